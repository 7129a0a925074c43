package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
	"kz/internal/zk"
	"kz/internal/zktest"
)

func TestKzZk(t *testing.T) {
	s := zktest.Start(t)
	c, err := zk.Connect(t.Context(), zk.Config{Servers: []string{s.Addr}, Chroot: "/k", SessionTimeout: 6 * time.Second, ConnectionTimeout: 20 * time.Second}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for path, data := range map[string][]byte{"/brokers/ids": nil, "/controller_epoch": []byte("1")} {
		if err := c.CreateRecursive(t.Context(), path, data); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.CreateEphemeral(t.Context(), "/brokers/ids/1", []byte(`{"host":"h"}`)); err != nil {
		t.Fatal(err)
	}
	at := s.Addr + "/k"
	for _, row := range []struct {
		rule string
		args string
		code int
		want []string // parts of stdout, or of stderr when the code is not 0
	}{
		{"ls sorts", "ls --zookeeper " + at + " /", 0, []string{"brokers\ncontroller_epoch\n"}},
		{"get prints the data as it is", "get --zookeeper " + at + " /brokers/ids/1", 0, []string{`{"host":"h"}` + "\n"}},
		{"null data is null", "get --zookeeper " + at + " /brokers/", 0, []string{"null\n"}},
		{"stat is ZooKeeper's", "stat --zookeeper " + at + " /brokers/ids/1", 0, []string{"cZxid = 0x", "dataVersion = 1\n", "numChildren = 0\n"}},
		{"tree shows versions and owners", "tree --zookeeper " + at, 0, []string{"/\n  brokers\n    ids\n      1  v1  {\"host\":\"h\"}  (ephemeral, session 0x", "  controller_epoch  v0  1\n"}},
		{"tree of a part", "tree --zookeeper " + at + " /brokers/ids", 0, []string{"/brokers/ids\n  1  v1"}},
		{"json tells null from text", "get --zookeeper " + at + " -o json /brokers", 0, []string{`"data":null`, `"dataVersion":0`}},
		{"json of tree", "tree --zookeeper " + at + " -o json", 0, []string{`"path":"/brokers/ids/1","data":"{\"host\":\"h\"}"`}},
		{"a missing node is an error with a next step", "get --zookeeper " + at + " /brokers/nope", exitFailed, []string{"NONODE", "kz zk ls /brokers"}},
		{"a chroot that is not there is not made", "ls --zookeeper " + s.Addr + "/other /", exitFailed, []string{"NONODE"}},
		{"a path begins with a slash", "get brokers", exitUsage, []string{"PATH"}},
		{"a mistyped command", "gett /", exitUsage, []string{`Did you mean "get"`}},
		{"an unknown format", "ls -o yaml /", exitUsage, []string{"text and json"}},
	} {
		t.Run(row.rule, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), &env{stdout: &out, stderr: &errs, network: link.TCP{}}, append([]string{"kz", "zk"}, strings.Fields(row.args)...))
			text := out.String()
			if row.code != 0 {
				text = errs.String()
			}
			if code != row.code {
				t.Fatalf("code %d, want %d; stdout %q, stderr %q", code, row.code, out.String(), errs.String())
			}
			for _, part := range row.want {
				if !strings.Contains(text, part) {
					t.Errorf("no %q in %q", part, text)
				}
			}
			if row.code == 0 && strings.Contains(row.args, "json") && !json.Valid(out.Bytes()) {
				t.Errorf("not JSON: %s", text)
			}
		})
	}
	if _, found, _ := connectRoot(t, s).Exists(t.Context(), "/other"); found {
		t.Error("looking created a chroot")
	}
}

func connectRoot(t *testing.T, s *zktest.Server) *zk.Client {
	t.Helper()
	c, err := zk.Connect(t.Context(), zk.Config{Servers: []string{s.Addr}, SessionTimeout: 6 * time.Second, ConnectionTimeout: 20 * time.Second}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Nobody said where ZooKeeper is, none of ours runs, and nothing listens where it would be:
// that is told at once, with what to type.
func TestZkWithoutACluster(t *testing.T) {
	t.Setenv(dirVariable, t.TempDir())
	for _, args := range [][]string{{"zk", "ls", "/"}, {"zk", "watch", "/"}, {"zk", "watch", "-r", "/"}, {"zk", "sessions"}} {
		var out, errs strings.Builder
		code := run(t.Context(), &env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, network: link.NewMemory()}, append([]string{"kz"}, args...))
		want := "kz zk " + args[1] + ": nothing listens on 127.0.0.1:2181. No cluster runs in " + os.Getenv(dirVariable) + ". Start one: kz up --detach; or say where one is: --zookeeper host:port\n"
		if code != exitNoCluster || errs.String() != want {
			t.Errorf("%v: exit %d, %q", args, code, errs.String())
		}
	}
}
