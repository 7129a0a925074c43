package zkpaths

import (
	"bytes"
	"testing"
)

// Every decoder on any bytes: it must not panic, and what it accepts it must write in a
// form that it reads as the same again.
func FuzzDecoders(f *testing.F) {
	for _, c := range loadCaptured(f) {
		f.Add([]byte(c.Data))
	}
	for _, s := range []string{``, `null`, `{}`, `[]`, `{"version":1}`, `{"partitions":{"0":[]}}`, `{"version":2,"entity_path":"\ud800/"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, codec := range codecs {
			once, err := codec.roundTrip(data)
			if err != nil {
				continue
			}
			twice, err := codec.roundTrip(once)
			if err != nil {
				t.Fatalf("%s: wrote what it cannot read: %q -> %q: %v", codec.path, data, once, err)
			}
			if !bytes.Equal(once, twice) {
				t.Fatalf("%s: unstable: %q -> %q -> %q", codec.path, data, once, twice)
			}
		}
	})
}
