package record

import (
	"bytes"
	"fmt"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	for c := None; c <= Zstd; c++ {
		for _, n := range []int{1, 3, 1000, 20000} {
			w := NewBuilder(c, 5)
			for i := range n {
				w.Append(int64(1000+i), fmt.Appendf(nil, "k%d", i), bytes.Repeat([]byte{byte(i)}, i%300), Header{"h", []byte("v")}, Header{"n", nil})
			}
			w.Append(7, nil, bytes.Repeat([]byte("large"), 100000))
			b, rest, err := Next(w.Bytes())
			if err != nil || len(rest) != 0 {
				t.Fatal(err, len(rest))
			}
			if err := b.CheckCRC(); err != nil {
				t.Fatal(err)
			}
			i := 0
			var all []Record
			for r, err := range b.Records() {
				if err != nil {
					t.Fatal(c, i, err)
				}
				all = append(all, r)
				i++
			}
			for i, r := range all[:n] {
				if string(r.Key) != fmt.Sprint("k", i) || r.Offset != int64(5+i) || len(r.Headers) != 2 || !bytes.Equal(r.Value, bytes.Repeat([]byte{byte(i)}, i%300)) {
					t.Fatal(c, i, r)
				}
			}
			if len(all) != n+1 || len(all[n].Value) != 500000 {
				t.Fatal(len(all))
			}
			wk, err := newWalker(b, false)
			if err != nil {
				t.Fatal(err)
			}
			var f fields
			for wk.left > 0 {
				if err := wk.check(&f); err != nil {
					t.Fatal(c, err)
				}
			}
			wk.close()
			if f.valueLen != 500000 {
				t.Fatal(f.valueLen)
			}
		}
	}
}
