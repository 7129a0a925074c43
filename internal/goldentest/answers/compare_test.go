package answers

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/wire"
)

// exchange is one line of the golden files: a question and the answer to it.
type exchange struct {
	Case    string
	Step    int
	To      string // which broker
	API     string
	Version any // a number, or "" where bytes were sent
	Request string
	Answer  any

	refused bool // kz does not serve it, and said so
}

// apiKey knows Kafka 2.8's names: AlterIsr is called AlterPartition since 3.2.
func apiKey(name string) (int16, bool) {
	if name == "AlterIsr" {
		name = "AlterPartition"
	}
	return wire.KeyForName(name)
}

func apiName(key int16) string {
	if name := wire.APIName(key); name != "AlterPartition" {
		return name
	}
	return "AlterIsr"
}

// served says whether kz serves what the exchange asks. Bytes and timings are always compared.
func (x exchange) served() bool {
	v, ok := x.Version.(float64)
	if _, known := apiKey(x.API); !ok || !known {
		return true
	}
	return serves(x.API, int16(v))
}

// golden reads what Kafka answered, by case, in order.
func golden(t *testing.T, name string) map[string][]exchange {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]exchange{}
	for dec := json.NewDecoder(z); dec.More(); {
		var x exchange
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err)
		}
		all[x.Case] = append(all[x.Case], x)
	}
	return all
}

// canonical gives an answer the shape that it has when it is read from JSON.
func canonical(t *testing.T, answer any) any {
	t.Helper()
	b, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A gap is one place where kz's answer is not Kafka's.
type gap struct {
	Field     string // Topics[0].ErrorCode; "" is the whole answer
	Kafka, KZ any
}

func (g gap) String() string {
	return fmt.Sprintf("%s: Kafka %s, kz %s", g.Field, short(g.Kafka), short(g.KZ))
}

func short(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 400 {
		return string(b[:400]) + "…"
	}
	return string(b)
}

// gaps compares two answers field by field.
func gaps(path string, kafka, kz any) []gap {
	switch a := kafka.(type) {
	case map[string]any:
		b, ok := kz.(map[string]any)
		if !ok {
			break
		}
		var out []gap
		for _, k := range keysOf(a, b) {
			x, inA := a[k]
			y, inB := b[k]
			if inA != inB {
				out = append(out, gap{join(path, k), orAbsent(x, inA), orAbsent(y, inB)})
				continue
			}
			out = append(out, gaps(join(path, k), x, y)...)
		}
		return out
	case []any:
		b, ok := kz.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		var out []gap
		for i := range a {
			out = append(out, gaps(fmt.Sprintf("%s[%d]", path, i), a[i], b[i])...)
		}
		return out
	default:
		if kafka == kz {
			return nil
		}
	}
	return []gap{{path, kafka, kz}}
}

func join(path, k string) string {
	if path == "" {
		return k
	}
	return path + "." + k
}

func orAbsent(v any, there bool) any {
	if !there {
		return "(absent)"
	}
	return v
}

func keysOf(maps ...map[string]any) []string {
	set := map[string]bool{}
	for _, m := range maps {
		for k := range m {
			set[k] = true
		}
	}
	var keys []string
	for k := range set {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// asServed cuts Kafka's list of APIs to what kz serves: which APIs those are is the table of
// internal/wire; that no bound is above Kafka's is compared here, and so is all else in the answer.
func asServed(x exchange) any {
	if hexText, ok := x.Answer.(string); ok && x.API == "raw bytes" {
		if cut := rawAPIVersions(hexText); cut != nil {
			return hex.EncodeToString(cut)
		}
	}
	answer, ok := x.Answer.(map[string]any)
	keys, isList := answer["ApiKeys"].([]any)
	if !ok || !isList || x.API != "ApiVersions" {
		return x.Answer
	}
	kept := []any{}
	for _, k := range keys {
		row := k.(map[string]any)
		if r, ok := wire.Lookup(int16(row["ApiKey"].(float64))); ok {
			row["MinVersion"] = max(row["MinVersion"].(float64), float64(r.Min))
			kept = append(kept, row)
		}
	}
	if len(kept) > 1 { // the answer to an unknown version names ApiVersions alone
		answer["ApiKeys"] = kept
	}
	return answer
}

// rawAPIVersions does the same to a hex dump, if it is an answer to ApiVersions v0 without error.
func rawAPIVersions(hexText string) []byte {
	b, err := hex.DecodeString(hexText)
	if err != nil || len(b) < 100 {
		return nil
	}
	r := kmsg.NewPtrApiVersionsResponse()
	if r.ReadFrom(b[4:]) != nil || !bytes.Equal(r.AppendTo(nil), b[4:]) || len(r.ApiKeys) < 20 {
		return nil
	}
	var kept []kmsg.ApiVersionsResponseApiKey
	for _, k := range r.ApiKeys {
		if row, ok := wire.Lookup(k.ApiKey); ok {
			k.MinVersion = max(k.MinVersion, row.Min)
			kept = append(kept, k)
		}
	}
	r.ApiKeys = kept
	return r.AppendTo(b[:4:4])
}

// kafkaAPIs is what Kafka 2.8.2 advertises at inter.broker.protocol.version 2.6.
func kafkaAPIs(t *testing.T) []kmsg.ApiVersionsResponseApiKey {
	t.Helper()
	answer := golden(t, "golden")["framing/apiversions-v0"][0].Answer.(map[string]any)
	var keys []kmsg.ApiVersionsResponseApiKey
	for _, k := range answer["ApiKeys"].([]any) {
		row := k.(map[string]any)
		keys = append(keys, kmsg.ApiVersionsResponseApiKey{
			ApiKey: int16(row["ApiKey"].(float64)), MinVersion: int16(row["MinVersion"].(float64)), MaxVersion: int16(row["MaxVersion"].(float64)),
		})
	}
	return keys
}
