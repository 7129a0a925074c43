package consumer

import (
	"strings"
	"testing"

	"kz/internal/record"
)

func TestDecode(t *testing.T) {
	b := record.NewBuilder(record.None, 0)
	b.Append(1, []byte("a"), []byte{0, 0, 0, 0, 0, 0, 1, 2})
	b.Append(1, []byte("b"), []byte{1, 2})
	b.Append(1, nil, nil)
	f := &Fetched{Partition: p0, To: 3, Bytes: b.Bytes()}
	var keys []string
	var sum int64
	var bad []string
	for r, err := range Decode(f, String, Int64) {
		if err != nil {
			bad = append(bad, err.Error())
			continue
		}
		keys = append(keys, r.TypedKey)
		sum += r.TypedValue
	}
	if strings.Join(keys, ",") != "a," || sum != 258 {
		t.Errorf("keys %q, sum %d", keys, sum)
	}
	if len(bad) != 1 || !strings.Contains(bad[0], "t-0 at offset 1") {
		t.Errorf("faults %q", bad)
	}
	if v, err := Float64("t", []byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}); v != 1 || err != nil {
		t.Errorf("1.0 is %v, %v", v, err)
	}
	if v, err := Int32("t", []byte{0xff, 0xff, 0xff, 0xfe}); v != -2 || err != nil {
		t.Errorf("-2 is %v, %v", v, err)
	}
	if v, err := Bytes("t", nil); v != nil || err != nil {
		t.Errorf("null is %v, %v", v, err)
	}
}
