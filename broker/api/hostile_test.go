package api

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/wire"
)

// What a body makes us allocate must stay in proportion to its size, whatever counts it
// claims: Kafka 2.8 itself could be ended by such a request (CVE-2022-34917). kmsg
// holds every count against the bytes that are left; this pins it.
func TestClaimedCountsAreHeldAgainstTheBytes(t *testing.T) {
	const size, most = 64 << 10, 64
	for _, row := range wire.Served() {
		for v := row.Min; v <= row.Max; v++ {
			worst := 0
			req := kmsg.RequestForKey(row.Key)
			req.SetVersion(v)
			head := req.AppendTo(nil)
			for at := range len(head) + 8 {
				for _, count := range [][]byte{
					binary.BigEndian.AppendUint32(nil, size),
					binary.BigEndian.AppendUint32(nil, size/30),
					binary.BigEndian.AppendUint32(nil, 1),
					binary.AppendUvarint(nil, size),
					binary.AppendUvarint(nil, size/4),
					{2, 2, 2},
				} {
					body := slices.Concat(head[:min(at, len(head))], count, make([]byte, size))
					worst = max(worst, allocated(func() {
						r := kmsg.RequestForKey(row.Key)
						r.SetVersion(v)
						_ = r.ReadFrom(body)
					}))
				}
			}
			if worst > most*size {
				t.Errorf("%s v%d: a body of %d bytes took %d bytes of memory", wire.APIName(row.Key), v, size, worst)
			}
		}
	}
}

func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}
