package producer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kz/client"
	"kz/internal/clustertest"
	"kz/internal/record"
)

func TestMain(m *testing.M) {
	clustertest.SideBySide("2")
	clustertest.Main(m)
}

func TestProducerOnServers(t *testing.T) { clustertest.OnServers(t, nil, produceEveryWay) }

// produceEveryWay sends records with each codec and each acks. What the callback says is where the
// record is; the records of one key are in one partition, the one that franz-go would choose, in order.
func produceEveryWay(t *testing.T, s clustertest.Server) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	reader, err := kgo.NewClient(kgo.SeedBrokers(s.Seeds...))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	const partitions, keys, each = 5, 20, 15
	theirs := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	for _, acks := range []int16{0, 1, -1} {
		for codec := record.None; codec <= record.Zstd; codec++ {
			name := fmt.Sprintf("acks%d-%v", acks, codec)
			clustertest.CreateTopic(t, reader, name, partitions, 1)
			cfg := DefaultConfig(client.DefaultConfig(s.Seeds...))
			cfg.Acks, cfg.Compression, cfg.Linger, cfg.MaxInFlight = acks, codec, 2*time.Millisecond, 1
			p := New(cfg)
			var mu sync.Mutex // guards said
			said := map[string]Metadata{}
			for i := range keys * each {
				key, value := fmt.Sprint("key-", i%keys), fmt.Sprint(i)
				r := Record{Topic: name, Partition: AnyPartition, Key: []byte(key), Value: []byte(value)}
				if err := p.Send(ctx, r, func(_ int64, m Metadata, err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Errorf("%s: record %s: %v", name, value, err)
					}
					said[value] = m
				}); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.Close(ctx); err != nil {
				t.Fatal(name, err)
			}
			var read [partitions]map[int64]string
			clustertest.Eventually(t, time.Minute, "everything to be there", func() (bool, string) { // acks=0 tells nobody when
				n := 0
				for part := range int32(partitions) {
					read[part] = clustertest.ReadAll(t, s.Seeds, name, part)
					n += len(read[part])
				}
				return n == keys*each, fmt.Sprint(n)
			})
			last := map[string]int{} // of each key
			for part := range int32(partitions) {
				got := read[part]
				for _, at := range slices.Sorted(maps.Keys(got)) {
					m := said[got[at]]
					if delete(said, got[at]); m.Partition != part || acks != 0 && m.Offset != at || acks == 0 && m.Offset != -1 {
						t.Errorf("%s: record %s is at %d@%d, and the callback said %d@%d", name, got[at], part, at, m.Partition, m.Offset)
					}
					var i int
					fmt.Sscan(got[at], &i)
					key := fmt.Sprint("key-", i%keys)
					if before, ok := last[key]; ok && i < before {
						t.Errorf("%s: record %d of %s stands after %d", name, i, key, before)
					}
					last[key] = i
					if want := theirs.Partition(&kgo.Record{Key: []byte(key)}, partitions); want != int(part) {
						t.Errorf("%s: %s went to partition %d; franz-go sends it to %d", name, key, part, want)
					}
				}
			}
			if len(said) > 0 || len(last) != keys {
				t.Errorf("%s: %d records are not there, %d keys are", name, len(said), len(last))
			}
		}
	}
}
