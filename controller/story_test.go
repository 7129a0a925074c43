package controller

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"kz/internal/fidelity"
	"kz/zkpaths"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the story files instead of comparing")

// TestStories plays testdata/stories. A story is a text of blocks: what is done, one
// command a line, then ----, then what comes of it: transitions, znode writes in order,
// requests to the brokers in the order each broker gets them. Read a story as prose; a
// changed story is a changed controller.
//
// A block that begins with "setup" is not told: it makes what the story is about.
//
// A block that begins with "golden-requests N" must send broker 9 what Kafka sent it in
// phase N of testdata/golden-requests.txt, and is not told either.
//
// A block whose first command is "golden STEP" did in real Kafka what is recorded under
// that name in testdata/golden-writes.txt, and must cause the same writes here.
func TestStories(t *testing.T) {
	files, _ := filepath.Glob("testdata/stories/*.txt")
	if len(files) == 0 {
		t.Fatal("no stories")
	}
	golden := readGoldenWrites(t)
	sheet := fidelity.Open(t, "requests/stories")
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playStory(t, file, golden, sheet) })
		})
	}
}

func playStory(t *testing.T, file string, golden map[string][]string, sheet *fidelity.Sheet) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	defer func() { r.stop(); synctest.Wait() }()
	var told strings.Builder
	for i, block := range parseStory(string(text)) {
		told.WriteString(block.intro)
		if len(block.acts) == 0 {
			continue
		}
		step, phase, said, setup := "", "", "", false
		var to9 []string
		for _, act := range block.acts {
			told.WriteString(act + "\n")
			if name, ok := strings.CutPrefix(act, "golden "); ok {
				step = name
				continue
			}
			if act == "setup" {
				setup = true
				continue
			}
			if n, ok := strings.CutPrefix(act, "golden-requests "); ok {
				phase = n
				continue
			}
			said += r.act(act)
			synctest.Wait()
		}
		if b := r.brokers[9]; b != nil {
			to9 = slices.Clone(b.requests)
		}
		got, writes := r.whatHappened()
		if phase != "" {
			compareRequests(t, phase, to9)
			sheet.Add("phase "+phase, "in memory", fidelity.Same, "")
			got, said = "(what broker 9 got in that phase)\n", ""
		}
		if got = said + got; setup {
			got = "(as in 01-first-controller)\n"
		}
		told.WriteString("----\n" + got + "\n")
		if !*rewrite && got != block.want {
			t.Errorf("%s, block %d (%s):\ngot:\n%s\nwant:\n%s", file, i+1, block.acts[0], got, block.want)
		}
		if step != "" {
			compareWithGolden(t, step, writes, golden[step])
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(strings.TrimRight(told.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type storyBlock struct {
	intro string // comments and blank lines before it
	acts  []string
	want  string
}

func parseStory(text string) (blocks []storyBlock) {
	var b storyBlock
	inWant := false
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		switch {
		case inWant && bare == "":
			blocks = append(blocks, b)
			b, inWant = storyBlock{}, false
		case inWant:
			b.want += line
		case bare == "----":
			inWant = true
		case bare == "" || strings.HasPrefix(bare, "#") && len(b.acts) == 0:
			b.intro += line
		default:
			b.acts = append(b.acts, bare)
		}
	}
	return append(blocks, b)
}

// whatHappened since the last call, and the writes alone.
func (r *rig) whatHappened() (text string, writes []string) {
	var s strings.Builder
	for _, b := range r.all {
		for _, line := range transitions(b.events) {
			fmt.Fprintln(&s, line)
		}
		b.events = nil
	}
	writes = r.tree.takeWrites()
	for _, w := range writes {
		if who, rest, _ := strings.Cut(w, " "); strings.HasPrefix(rest, "[create "+zkpaths.BrokerIDs) {
			w = who + " registers"
		}
		fmt.Fprintln(&s, "zk   "+w)
	}
	queues := map[int32][]string{}
	for _, b := range r.all {
		if rs := b.takeRequests(); len(rs) > 0 {
			queues[b.id] = append(queues[b.id], rs...)
		}
	}
	for _, line := range mergeRequests(queues) {
		fmt.Fprintln(&s, "send "+line)
	}
	return s.String(), writes
}

// mergeRequests prints what several brokers get alike in one line. Each broker's own order
// is kept.
func mergeRequests(queues map[int32][]string) (lines []string) {
	for len(queues) > 0 {
		// Take a head that no other broker gets later, if there is one: so that equal
		// requests meet.
		pick := int32(-1)
		for _, id := range sortedKeys(queues) {
			later := false
			for other, q := range queues {
				later = later || other != id && q[0] != queues[id][0] && slices.Contains(q, queues[id][0])
			}
			if !later {
				pick = id
				break
			}
		}
		if pick < 0 {
			pick = sortedKeys(queues)[0]
		}
		head := queues[pick][0]
		var to []int32
		for _, id := range sortedKeys(queues) {
			if queues[id][0] == head {
				to = append(to, id)
				if queues[id] = queues[id][1:]; len(queues[id]) == 0 {
					delete(queues, id)
				}
			}
		}
		lines = append(lines, "to "+join(to)+": "+head)
	}
	return lines
}

func readGoldenWrites(t *testing.T) map[string][]string {
	text, err := os.ReadFile("testdata/golden-writes.txt")
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string][]string{}
	step := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			step = name
			steps[step] = []string{}
		} else if step != "" && line != "" {
			steps[step] = append(steps[step], line)
		}
	}
	return steps
}

// compareWithGolden compares the controllers' writes with Kafka's: for each znode the same
// writes in the same order. Independent writes of one batch have no order in Kafka (it is
// that of a hash map), so the order between znodes is not compared here; the story has it.
func compareWithGolden(t *testing.T, step string, writes, want []string) {
	t.Helper()
	if want == nil {
		t.Fatalf("no golden step %s", step)
	}
	got := slices.DeleteFunc(slices.Clone(writes), func(w string) bool {
		_, rest, _ := strings.Cut(w, " ")
		return !strings.HasPrefix(rest, "[check ") && !strings.HasPrefix(rest, "[create /controller ")
	})
	byNode := func(lines []string) string {
		chains := map[string][]string{}
		for _, l := range lines {
			fields := strings.Fields(l)
			path := fields[2]
			if fields[1] == "[check" {
				path = fields[6]
			}
			chains[path] = append(chains[path], l)
		}
		var s strings.Builder
		for _, path := range sortedKeys(chains) {
			fmt.Fprintln(&s, strings.Join(chains[path], "\n"))
		}
		return s.String()
	}
	if g, w := byNode(got), byNode(want); g != w {
		t.Errorf("%s: writes\n%s\nreal Kafka wrote\n%s", step, g, w)
	}
}

// compareRequests compares what broker 9 got with what it got from Kafka: the same requests
// in the same order with the same fields. Inside a request order means nothing.
func compareRequests(t *testing.T, phase string, got []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden-requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+phase+" ")
	if !found {
		t.Fatalf("no golden phase %s", phase)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	want := strings.Split(strings.TrimSpace(rest), "\n")[1:]
	if g, w := sortInside(got), sortInside(want); g != w {
		t.Errorf("phase %s: broker 9 got\n%s\nreal Kafka sent\n%s", phase, g, w)
	}
}

var (
	listed    = regexp.MustCompile(`(live|liveLeaders) \[([0-9,]*)\]`)
	partition = regexp.MustCompile(`[a-z_0-9]+-[0-9]+\{[^}]*\}`)
)

func sortInside(requests []string) string {
	var s strings.Builder
	for _, r := range requests {
		entries := partition.FindAllString(r, -1)
		slices.Sort(entries)
		r = strings.Join(strings.Fields(partition.ReplaceAllString(r, "")), " ")
		r = listed.ReplaceAllStringFunc(r, func(l string) string {
			m := listed.FindStringSubmatch(l)
			ids := strings.Split(m[2], ",")
			slices.Sort(ids)
			return m[1] + " [" + strings.Join(ids, ",") + "]"
		})
		fmt.Fprintf(&s, "%s\n", r)
		for _, e := range entries {
			fmt.Fprintf(&s, "    %s\n", e)
		}
	}
	return s.String()
}
