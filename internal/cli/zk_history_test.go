package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kz/internal/up"
)

// Two brokers race for /controller; the winner dies. As the embedded server tells it.
const raceJournal = `{"seq":1,"kind":"zk.session-opened","node":-1,"session":"0xa","zxid":1,"text":"timeout 2s"}
{"seq":2,"kind":"zk.write","node":-1,"path":"/brokers/ids/1","versionBefore":-1,"zxid":2,"session":"0xa","result":"ok","text":"create"}
{"seq":3,"kind":"zk.write","node":-1,"path":"/controller","versionBefore":-1,"zxid":3,"session":"0xa","result":"ok","text":"create"}
{"seq":4,"kind":"zk.write","node":-1,"path":"/controller_epoch","versionAfter":1,"zxid":3,"session":"0xa","result":"ok","text":"setData"}
{"seq":5,"kind":"zk.write","node":-1,"path":"/controller","zxid":4,"session":"0xb","result":"NODEEXISTS","text":"create"}
{"seq":6,"kind":"zk.write","node":-1,"path":"/chroot/brokers/ids/2","versionBefore":-1,"zxid":5,"session":"0xb","result":"ok","text":"create"}
{"seq":7,"kind":"zk.session-expired","node":-1,"session":"0xa","zxid":6,"text":"nothing heard"}
{"seq":8,"kind":"zk.write","node":-1,"path":"/controller","versionAfter":-1,"zxid":6,"session":"0xa","result":"ok","text":"delete"}
{"seq":9,"kind":"zk.write","node":-1,"path":"/controllers","versionBefore":-1,"zxid":7,"session":"0xc","result":"ok","text":"create"}
{"seq":10,"kind":"zk.wri`

func TestKzZkHistory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "zookeeper.jsonl"), []byte(raceJournal), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "zookeeper.jsonl")
	foreign := filepath.Join(dir, "foreign")
	for d, spec := range map[string]up.Spec{
		dir:     {Ports: up.Brokers(1, 9092), ZooPort: 2181, Profile: "class"},
		foreign: {Ports: up.Brokers(1, 9092), ZooKeeper: "zoo.example:2181", Profile: "class"},
	} {
		if err := up.WriteSpec(d, spec); err != nil {
			t.Fatal(err)
		}
	}
	const all = "ZXID SESSION WHO OP VERSION RESULT PATH\n" +
		"0x2 0xa broker 1 create - -> v0 ok /brokers/ids/1\n" +
		"0x3 0xa broker 1 create - -> v0 ok /controller\n" +
		"0x3 0xa broker 1 setData v0 -> v1 ok /controller_epoch\n" +
		"0x4 0xb broker 2 create v0 -> v0 NODEEXISTS /controller\n" +
		"0x5 0xb broker 2 create - -> v0 ok /chroot/brokers/ids/2\n" +
		"0x6 0xa broker 1 delete v0 -> - ok, its session expired /controller\n" +
		"0x7 0xc - create - -> v0 ok /controllers\n"
	lines := strings.SplitAfter(all, "\n")
	for _, row := range []struct {
		rule string
		args []string
		code int
		want string // stdout, blanks squeezed; of a failure a part of stderr
	}{
		{"all, of a cluster that need not run", []string{"--dir", dir}, 0, all},
		{"one path, not its namesakes", []string{"--journal", file, "/controller"}, 0, lines[0] + lines[2] + lines[4] + lines[6]},
		{"what is below", []string{"--journal", file, "--below", "/brokers"}, 0, lines[0] + lines[1]},
		{"the last ones; who they are was said before", []string{"--journal", file, "--last", "2"}, 0, lines[0] + lines[6] + lines[7]},
		{"nobody wrote", []string{"--journal", file, "/brokers"}, 0, ""},
		{"json", []string{"--journal", file, "-o", "json", "--last", "1", "/controller"}, 0,
			`{"writes":[{"zxid":"0x6","session":"0xa","who":"broker 1","op":"delete","path":"/controller","versionBefore":0,"versionAfter":null,"result":"ok","why":"its session expired"}],"earlier":2}` + "\n"},
		{"a real ZooKeeper does not tell", []string{"--dir", foreign}, exitFailed, "zoo.example:2181, which is not embedded"},
		{"no cluster", []string{"--dir", filepath.Join(dir, "none")}, exitNoCluster, "kz up --detach"},
		{"a file that is not there", []string{"--journal", file + "x"}, exitFailed, "zookeeper.jsonlx"},
		{"a negative number", []string{"--last", "-1"}, exitUsage, "--last"},
		{"a path is a path", []string{"brokers"}, exitUsage, "begins with '/'"},
		{"a mistyped flag", []string{"--belw", "/"}, exitUsage, "--below"},
	} {
		out, errs, code := kz(t, append([]string{"zk", "history"}, row.args...)...)
		squeezed := ""
		for line := range strings.Lines(out) {
			squeezed += strings.Join(strings.Fields(line), " ") + "\n"
		}
		if code != row.code || code == 0 && squeezed != row.want || code != 0 && !strings.Contains(errs, row.want) {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s", row.rule, code, squeezed, errs, row.code, row.want)
		}
	}
}
