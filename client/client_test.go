package client_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/link"
)

// bubble runs a test against brokers 1..n in virtual time. Everything must have ended when it returns.
func bubble(t *testing.T, n int32, run func(t *testing.T, c *fakebroker.Cluster, cfg client.Config)) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		c, err := fakebroker.New(network, n)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		cfg := client.DefaultConfig(c.Addr(1))
		cfg.Network = network
		run(t, c, cfg)
	})
}

func TestParseServers(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string // nil: an error
	}{
		{"one", "a:1", []string{"a:1"}},
		{"blanks and empty places do not count", " a:1 ,, b:2,", []string{"a:1", "b:2"}},
		{"IPv6 in brackets", "[::1]:9092", []string{"[::1]:9092"}},
		{"nothing at all", " , ", nil},
		{"no port", "nonsense", nil},
		{"a port that is no number", "a:b", nil},
		{"a port that does not exist", "a:65536", nil},
		{"no host", ":9092", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := client.ParseServers(tt.in)
			if (err != nil) != (tt.want == nil) || !slices.Equal(got, tt.want) {
				t.Errorf("ParseServers(%q) = %q, %v; want %q", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestPropertiesReportEveryFault(t *testing.T) {
	p := client.NewProperties(map[string]string{
		"bootstrap.servers": "a:1", "request.timeout.ms": "soon", "security.protocol": "SSL", "no.such.key": "1",
	})
	p.Common()
	err := p.Err()
	if err == nil || !strings.Contains(err.Error(), "request.timeout.ms=soon") || !strings.Contains(err.Error(), "security.protocol=SSL") {
		t.Errorf("both faults must be named: %v", err)
	}
	if got := p.Unknown(); !slices.Equal(got, []string{"no.such.key"}) {
		t.Errorf("unknown keys: %q", got)
	}
}

func TestAnyAsksTheNextBroker(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
		cfg.Bootstrap = []string{"127.0.0.1:1", c.Addr(1)} // nobody listens on the first
		cl := client.New(cfg)
		defer cl.Close()
		for range 5 { // from a random place on
			if _, err := cl.Metadata(t.Context(), nil, false); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestNobodyAnswersIsANetworkError(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
		cfg.Bootstrap = []string{"127.0.0.1:1"}
		cl := client.New(cfg)
		defer cl.Close()
		_, err := cl.Metadata(t.Context(), nil, false)
		if !errors.Is(err, kafkaerr.NetworkException) || !client.Retriable(err) || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("want a retriable NETWORK_EXCEPTION that names the address, got %v", err)
		}
	})
}

// A broker that knows only older versions is asked in the highest both know.
func TestVersionsAreNegotiated(t *testing.T) {
	for _, tt := range []struct {
		name     string
		min, max int16
		want     int16 // -1: refused
	}{
		{"the same", 0, 11, 11},
		{"an older broker", 0, 5, 5},
		{"a newer broker: never above what 2.8 sends", 0, 13, 11},
		{"a broker that dropped our versions", 12, 13, -1},
		{"a broker without the API", 1, 0, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
				c.SetVersions(kmsg.Metadata, tt.min, tt.max)
				got := int16(-1)
				c.Handle(kmsg.Metadata, func(_ int32, req kmsg.Request) kmsg.Response {
					got = req.GetVersion()
					return c.Metadata(req.(*kmsg.MetadataRequest))
				})
				cl := client.New(cfg)
				defer cl.Close()
				_, err := cl.Metadata(t.Context(), nil, false)
				if got != tt.want || (err != nil) != (tt.want < 0) {
					t.Errorf("asked in version %d, err %v; want %d", got, err, tt.want)
				}
				if tt.want < 0 && !errors.Is(err, kafkaerr.UnsupportedVersion) {
					t.Errorf("want UNSUPPORTED_VERSION, got %v", err)
				}
			})
		})
	}
}

// Ref: Kafka 2.8 NetworkClient.handleApiVersionsResponse: UNSUPPORTED_VERSION means ask again with v0.
func TestApiVersionsFallsBackToV0(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
		var asked []int16
		c.Handle(kmsg.ApiVersions, func(_ int32, req kmsg.Request) kmsg.Response {
			asked = append(asked, req.GetVersion())
			if req.GetVersion() > 0 {
				return fakebroker.Close
			}
			resp := kmsg.NewPtrApiVersionsResponse()
			resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 3, MinVersion: 0, MaxVersion: 1}}
			return resp
		})
		cl := client.New(cfg)
		defer cl.Close()
		if _, err := cl.Metadata(t.Context(), nil, false); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(asked, []int16{3, 0}) {
			t.Errorf("asked ApiVersions in %v, want 3 then 0", asked)
		}
	})
}

// An answer later than request.timeout.ms closes the connection; the next request opens another.
func TestLateAnswerClosesTheConnection(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
		silent := true
		c.Handle(kmsg.Metadata, func(_ int32, req kmsg.Request) kmsg.Response {
			if silent {
				return nil
			}
			return c.Metadata(req.(*kmsg.MetadataRequest))
		})
		cl := client.New(cfg)
		defer cl.Close()
		begin := time.Now()
		if _, err := cl.Metadata(t.Context(), nil, false); !errors.Is(err, kafkaerr.NetworkException) {
			t.Fatalf("want NETWORK_EXCEPTION, got %v", err)
		}
		if took := time.Since(begin); took != cfg.RequestTimeout {
			t.Errorf("gave up after %v, want %v", took, cfg.RequestTimeout)
		}
		silent = false
		if _, err := cl.Metadata(t.Context(), nil, false); err != nil {
			t.Error(err)
		}
	})
}

func TestControllerIsAskedAgainWhenItMoved(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
		var asked []int32
		c.Handle(kmsg.CreatePartitions, func(node int32, _ kmsg.Request) kmsg.Response {
			asked = append(asked, node)
			return kmsg.NewPtrCreatePartitionsResponse()
		})
		cl := client.New(cfg)
		defer cl.Close()
		for _, refresh := range []bool{false, false, true} {
			if _, err := cl.Controller(t.Context(), kmsg.NewPtrCreatePartitionsRequest(), refresh); err != nil {
				t.Fatal(err)
			}
			c.SetController(2)
		}
		if !slices.Equal(asked, []int32{1, 1, 2}) {
			t.Errorf("asked %v, want 1 1 2", asked)
		}
	})
}

func TestCloseFailsWhatIsUnderWay(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, cfg client.Config) {
		c.Handle(kmsg.Metadata, func(int32, kmsg.Request) kmsg.Response { return nil })
		cl := client.New(cfg)
		failed := make(chan error)
		go func() {
			_, err := cl.Metadata(context.Background(), nil, false)
			failed <- err
		}()
		synctest.Wait()
		cl.Close()
		if err := <-failed; err == nil {
			t.Error("the request succeeded")
		}
		if _, err := cl.Metadata(t.Context(), nil, false); !errors.Is(err, client.ErrClosed) {
			t.Errorf("a closed client answers %v", err)
		}
	})
}
