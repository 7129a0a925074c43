package clustertest_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"

	"kz/internal/clustertest"
	"kz/internal/zktest"
)

// needs finds a program, or skips; KZ_REQUIRE_<what>=1 forbids the skip.
func needs(t *testing.T, program, require string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv(require) == "1" {
		t.Fatalf("%s is required and missing: %v", program, err)
	}
	t.Skipf("%s is not installed", program)
	return ""
}

// output runs a program with a deadline and returns its stdout.
func output(t *testing.T, stdin []byte, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 180*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\nstdout: %.2000s\nstderr: %.2000s", name, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes()
}

// numbers is the lines 1 to n, as seq prints them.
func numbers(n int) []byte {
	var b bytes.Buffer
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// kcat lists the brokers, and gives back exactly what it was given, with every codec.
func TestKcat(t *testing.T) {
	kcat := needs(t, "kcat", "KZ_REQUIRE_KCAT")
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	seeds := strings.Join(c.Seeds(), ",")
	list := string(output(t, nil, kcat, "-b", seeds, "-L"))
	for _, n := range c.Sorted() {
		if !strings.Contains(list, fmt.Sprintf("broker %d at %s", n.ID, n.Addr)) {
			t.Errorf("kcat -L does not list broker %d at %s:\n%s", n.ID, n.Addr, list)
		}
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			topic, n := "orders-"+codec, 20000
			if codec == "none" {
				topic, n = "orders", 200000
			}
			clustertest.CreateTopic(t, c.Client(), topic, 3, 3)
			output(t, numbers(n), kcat, "-P", "-b", seeds, "-t", topic, "-X", "acks=all", "-z", codec)
			got := output(t, nil, kcat, "-C", "-e", "-q", "-o", "beginning", "-b", seeds, "-t", topic, "-f", "%p %o %s\n")
			mustBeNumbers(t, got, n)
		})
	}
}

// mustBeNumbers checks lines "partition offset number": exactly 1 to n, offsets without gaps and
// numbers ascending in each partition.
func mustBeNumbers(t *testing.T, lines []byte, n int) {
	t.Helper()
	seen := make([]bool, n+1)
	last := map[int][2]int{}
	for line := range strings.Lines(string(lines)) {
		var partition, offset, number int
		if _, err := fmt.Sscanf(line, "%d %d %d", &partition, &offset, &number); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if number < 1 || number > n || seen[number] {
			t.Fatalf("%d came twice or was never sent", number)
		}
		seen[number] = true
		was, ok := last[partition]
		if ok && (offset != was[0]+1 || number <= was[1]) || !ok && offset != 0 {
			t.Fatalf("partition %d: %d at %d after %d at %d", partition, number, offset, was[1], was[0])
		}
		last[partition] = [2]int{offset, number}
	}
	if i := slices.Index(seen[1:], false); i >= 0 {
		t.Fatalf("%d is missing", i+1)
	}
}

// franz-go and sarama, idempotence off, with every codec.
func TestGoClients(t *testing.T) {
	zk := zktest.Start(t)
	c := clustertest.StartProcesses(t, zk.Addr, 3, quick())
	kgoCodecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	saramaCodecs := map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}
	const n = 10000
	for codec := range kgoCodecs {
		t.Run("kgo "+codec, func(t *testing.T) {
			topic := "kgo-" + codec
			clustertest.CreateTopic(t, c.Client(), topic, 3, 3)
			cl := c.Client(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgoCodecs[codec]))
			for i := 1; i <= n; i++ {
				cl.Produce(context.Background(), &kgo.Record{Topic: topic, Value: []byte(strconv.Itoa(i))}, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Error(err)
					}
				})
			}
			must(t, cl.Flush(context.Background()))
			mustBeNumbers(t, readLines(t, c, topic, 3), n)
		})
		t.Run("sarama "+codec, func(t *testing.T) {
			topic := "sarama-" + codec
			clustertest.CreateTopic(t, c.Client(), topic, 3, 3)
			cfg := sarama.NewConfig()
			cfg.Version = sarama.V2_6_0_0
			cfg.Producer.RequiredAcks = sarama.WaitForAll
			cfg.Producer.Compression = saramaCodecs[codec]
			cfg.Producer.Return.Successes = true
			p, err := sarama.NewSyncProducer(c.Seeds(), cfg)
			must(t, err)
			defer p.Close()
			var batch []*sarama.ProducerMessage
			for i := 1; i <= n; i++ {
				batch = append(batch, &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(strconv.Itoa(i)), Key: sarama.StringEncoder(strconv.Itoa(i % 3))})
			}
			must(t, p.SendMessages(batch))
			mustBeNumbers(t, readLines(t, c, topic, 3), n)
			mustBeNumbers(t, saramaLines(t, c.Seeds(), cfg, topic, 3), n)
		})
	}
}

// saramaLines reads a topic with sarama, up to the ends seen at the start.
func saramaLines(t *testing.T, seeds []string, cfg *sarama.Config, topic string, partitions int32) []byte {
	t.Helper()
	client, err := sarama.NewClient(seeds, cfg)
	must(t, err)
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	must(t, err)
	defer consumer.Close()
	var b bytes.Buffer
	for p := range partitions {
		end, err := client.GetOffset(topic, p, sarama.OffsetNewest)
		must(t, err)
		pc, err := consumer.ConsumePartition(topic, p, sarama.OffsetOldest)
		must(t, err)
		for next := int64(0); next < end; next++ {
			select {
			case m := <-pc.Messages():
				fmt.Fprintf(&b, "%d %d %s\n", p, m.Offset, m.Value)
			case <-time.After(60 * time.Second):
				t.Fatalf("sarama is silent at %d of %d in partition %d", next, end, p)
			}
		}
		must(t, pc.Close())
	}
	return b.Bytes()
}

// readLines reads a topic with franz-go, as mustBeNumbers wants it.
func readLines(t *testing.T, c *clustertest.Processes, topic string, partitions int32) []byte {
	t.Helper()
	var b bytes.Buffer
	for p := range partitions {
		stored := clustertest.ReadAll(t, c.Seeds(), topic, p)
		for o := range int64(len(stored)) {
			fmt.Fprintf(&b, "%d %d %s\n", p, o, stored[o])
		}
	}
	return b.Bytes()
}
