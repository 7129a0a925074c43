package wire

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Ref: Kafka 2.8 RequestHeader.parse, ApiKeys.requestHeaderVersion; a real broker was sent
// most of these bytes.
func TestParseRequestHeader(t *testing.T) {
	for _, row := range []struct {
		rule string
		in   string
		want RequestHeader
		body string
	}{
		{"v1: a client id, then the body", "0003 0001 00000007 0003 616e73 aabb", RequestHeader{3, 1, 7, "ans"}, "aabb"},
		{"v1: a null client id is empty", "0003 0001 00000001 ffff aa", RequestHeader{3, 1, 1, ""}, "aa"},
		{"any negative length is null", "0003 0001 00000001 8000", RequestHeader{3, 1, 1, ""}, ""},
		{"v1: an empty client id", "0003 0001 00000001 0000", RequestHeader{3, 1, 1, ""}, ""},
		{"v2: the client id is not compact, tags follow", "0003 0009 00000001 0003 616e73 00 aa", RequestHeader{3, 9, 1, "ans"}, "aa"},
		{"v2: unknown tags are passed over", "0003 0009 00000001 0000 02 05 03 616263 c801 01 7a aa", RequestHeader{3, 9, 1, ""}, "aa"},
		{"v2: tags out of order are accepted", "0003 0009 00000001 0000 02 09 01 61 05 01 62", RequestHeader{3, 9, 1, ""}, ""},
		{"v0: ControlledShutdown version 0 has no client id", "0007 0000 00000002 00000001", RequestHeader{7, 0, 2, ""}, "00000001"},
		{"ControlledShutdown version 1 has one", "0007 0001 00000002 0001 78 01", RequestHeader{7, 1, 2, "x"}, "01"},
		{"a client id that is not UTF-8 is accepted", "0012 0000 00000001 0002 fffe", RequestHeader{18, 0, 1, "\uFFFD"}, ""},
		{"ApiVersions of the future has the flexible header", "0012 0063 00000001 0000 00 ffffff", RequestHeader{18, 99, 1, ""}, "ffffff"},
		{"a negative version parses like an old one", "0012 ffff 00000001 0003 616e73", RequestHeader{18, -1, 1, "ans"}, ""},
		{"an API that is not served has a header all the same", "000a 0000 00000001 0000 aa", RequestHeader{10, 0, 1, ""}, "aa"},
		{"a negative correlation id is carried", "0003 0001 fffffffe 0000", RequestHeader{3, 1, -2, ""}, ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			h, body, err := ParseRequestHeader(unhex(t, row.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, h); diff != "" {
				t.Error(diff)
			}
			if !bytes.Equal(body, unhex(t, row.body)) {
				t.Errorf("body %x, want %s", body, row.body)
			}
		})
	}
}

func TestParseRequestHeaderRefuses(t *testing.T) {
	for _, row := range []struct{ rule, in, err string }{
		{"an empty frame", "", "ends early"},
		{"seven bytes", "00000000000000", "ends early"},
		{"no client id in v1", "0003 0001 00000001", "ends early"},
		{"half a client id length", "0003 0001 00000001 00", "ends early"},
		{"a client id beyond the frame", "0003 0001 00000001 7fff", "ends early"},
		{"v2 without tags", "0003 0009 00000001 0003 616e73", "tag section"},
		{"more tags than bytes", "0003 0009 00000001 0000 ffffffff0f 00 00", "tag section"},
		{"a tag beyond the frame", "0003 0009 00000001 0000 01 05 7f 61", "tag section"},
		{"a tag size that never ends", "0003 0009 00000001 0000 01 05 ffffffffffff", "tag section"},
		{"unknown key", "03e7 0000 00000001 0000", "unknown api key 999"},
		{"negative key", "ffff 0000 00000001 0000", "unknown api key -1"},
		{"the largest key", "7fff 0000 00000001 0000", "unknown api key 32767"},
		{"ApiVersions of the future with an old header", "0012 0063 00000001 0003 616e73", "tag section"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			_, _, err := ParseRequestHeader(unhex(t, row.in))
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("error %v, want one that says %q", err, row.err)
			}
		})
	}
}

// Ref: Kafka 2.8 ApiKeys.responseHeaderVersion.
func TestAppendResponseHeader(t *testing.T) {
	for _, row := range []struct {
		rule         string
		key, version int16
		want         string
	}{
		{"not flexible: the correlation id alone", 3, 8, "ff 00000007"},
		{"flexible: an empty tag section", 3, 9, "ff 00000007 00"},
		{"ApiVersions is never flexible here", 18, 3, "ff 00000007"},
		{"LeaderAndIsr 3", 4, 3, "ff 00000007"},
		{"LeaderAndIsr 4", 4, 4, "ff 00000007 00"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			got := AppendResponseHeader([]byte{0xff}, row.key, row.version, 7)
			if !bytes.Equal(got, unhex(t, row.want)) {
				t.Errorf("%x, want %s", got, row.want)
			}
			id, body, err := parseResponseHeader(append(got[1:], 0xab), row.key, row.version)
			if id != 7 || err != nil || !bytes.Equal(body, []byte{0xab}) {
				t.Errorf("read back: %d %x %v", id, body, err)
			}
		})
	}
}

// Every request of every served version must look as kmsg's own formatter writes it, and
// must read back.
func TestAppendRequestAgreesWithKmsg(t *testing.T) {
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID("someone"))
	for _, r := range Served() {
		for v := r.Min; v <= r.Max; v++ {
			req := kmsg.RequestForKey(r.Key)
			req.SetVersion(v)
			got := AppendRequest([]byte("before"), req, 77, "someone")
			want := formatter.AppendRequest(nil, req, 77)
			if r.Key == 7 && v == 0 { // here kmsg forgets size and body
				want = unhex(t, "0000000c 0007 0000 0000004d 00000000")
			}
			if !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Errorf("%s v%d: %x, want %x", APIName(r.Key), v, got[6:], want)
			}
			h, body, err := ParseRequestHeader(got[10:])
			id := "someone"
			if r.Key == 7 && v == 0 {
				id = ""
			}
			if err != nil || h != (RequestHeader{r.Key, v, 77, id}) || !bytes.Equal(body, req.AppendTo(nil)) {
				t.Errorf("%s v%d reads back as %+v %x %v", APIName(r.Key), v, h, body, err)
			}
		}
	}
}

func TestParseAllocatesNothingForTheSameClient(t *testing.T) {
	b := unhex(t, "0003 0009 00000001 0003 616e73 00 aa")
	var h RequestHeader
	if n := testing.AllocsPerRun(100, func() {
		if _, err := h.Parse(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for each header", n)
	}
}

func FuzzParseRequestHeader(f *testing.F) {
	for _, s := range []string{"", "0003000100000007 0003616e73aabb", "0003 0009 00000001 0000 02 05 03 616263 c801 01 7a aa",
		"0012 0063 00000001 0000 00 ffffff", "0007 0000 00000002 00000001", "0003 0009 00000001 0000 ffffffff0f 00"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := ParseRequestHeader(b)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(b, body) {
			t.Fatalf("the body %x is not the end of %x", body, b)
		}
		if !knownKey(h.Key) || len(h.ClientID) > 3*len(b) {
			t.Fatalf("%+v", h)
		}
		head := AppendResponseHeader(nil, h.Key, h.Version, h.CorrelationID)
		if id, rest, err := parseResponseHeader(head, h.Key, h.Version); err != nil || id != h.CorrelationID || len(rest) != 0 {
			t.Fatalf("response header %x reads back as %d %x %v", head, id, rest, err)
		}
	})
}
