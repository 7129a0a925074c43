package clustertest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What is a name or a number in a znode's path or data: two writes that differ only there have one
// shape.
var (
	topicInPath  = regexp.MustCompile(`^(/brokers/topics|/config/topics|/admin/delete_topics)/[^/]+`)
	quotedNumber = regexp.MustCompile(`"-?\d+"`)
	number       = regexp.MustCompile(`-?\d+`)
	numbers      = regexp.MustCompile(`N(,N)+`)
	replicaLists = regexp.MustCompile(`"N":\[[N…]*\](,"N":\[[N…]*\])+`)
	topicInJSON  = regexp.MustCompile(`"topic":"[^"]*"`)
	configs      = regexp.MustCompile(`"config":\{[^}]+\}`)
	topicEntries = regexp.MustCompile(`(\{"topic":"T","partition":N\})(,\{"topic":"T","partition":N\})+`)
)

// shape replaces what may differ between two writes of one sort.
func shape(path string, data []byte) (string, string) {
	p := number.ReplaceAllString(topicInPath.ReplaceAllString(path, "$1/T"), "N")
	d := topicInJSON.ReplaceAllString(string(data), `"topic":"T"`)
	d = configs.ReplaceAllString(d, `"config":{}`)
	d = number.ReplaceAllString(quotedNumber.ReplaceAllString(d, `"N"`), "N")
	d = numbers.ReplaceAllString(d, "N…")
	d = strings.ReplaceAll(d, "[N]", "[N…]")
	d = replicaLists.ReplaceAllString(d, `"N":[N…]…`)
	d = strings.ReplaceAll(d, `{"N":[N…]}`, `{"N":[N…]…}`)
	d = topicEntries.ReplaceAllString(d, "$1…")
	d = strings.ReplaceAll(d, `[{"topic":"T","partition":N}]`, `[{"topic":"T","partition":N}…]`)
	return p, d
}

// Shapes is what brokers wrote to ZooKeeper, names and numbers left out: by kind of act ("set
// /brokers/topics/T/partitions/N/state"), by the kind of broker that wrote it, the set of data. "fenced"
// before it says that the write stood in one transaction with a check of /controller_epoch. Writes of
// sessions that never registered a broker (tools) are left out.
func Shapes(txns []Txn, kinds map[int32]Kind) map[string]map[Kind]map[string]bool {
	brokers := map[int64]int32{}
	for _, x := range txns {
		if id, ok := strings.CutPrefix(x.Path, "/brokers/ids/"); ok && x.Type == "create" {
			n, _ := strconv.Atoi(id)
			brokers[x.Session] = int32(n)
		}
	}
	fenced := map[int64]bool{}
	for _, x := range txns {
		if x.Type == "check" {
			fenced[x.Zxid] = true
		}
	}
	out := map[string]map[Kind]map[string]bool{}
	for _, x := range txns {
		id, ours := brokers[x.Session]
		if !ours || x.Path == "" || x.Type == "check" {
			continue
		}
		path, data := shape(x.Path, x.Data)
		act := x.Type + " " + path
		if x.Ephem {
			act = "ephemeral " + act
		}
		if fenced[x.Zxid] {
			act = "fenced " + act
		}
		byKind := out[act]
		if byKind == nil {
			byKind = map[Kind]map[string]bool{KZ: {}, Kafka: {}}
			out[act] = byKind
		}
		byKind[kinds[id]][data] = true
	}
	return out
}

// UnlikeShapes lists the acts that both kinds did, and of which one kind left data in a shape that the
// other never did. alike is how many acts both did.
func UnlikeShapes(shapes map[string]map[Kind]map[string]bool) (alike int, unlike []string) {
	for _, act := range slices.Sorted(maps.Keys(shapes)) {
		kz, kafka := shapes[act][KZ], shapes[act][Kafka]
		if len(kz) == 0 || len(kafka) == 0 {
			continue
		}
		if maps.Equal(kz, kafka) {
			alike++
			continue
		}
		unlike = append(unlike, fmt.Sprintf("%s: kz wrote %q, Kafka %q", act, slices.Sorted(maps.Keys(kz)), slices.Sorted(maps.Keys(kafka))))
	}
	return alike, unlike
}

// OneSided lists the acts that only brokers of one kind did, with that kind: the other may never have had
// occasion, or does it another way.
func OneSided(shapes map[string]map[Kind]map[string]bool) []string {
	var out []string
	for _, act := range slices.Sorted(maps.Keys(shapes)) {
		switch {
		case len(shapes[act][KZ]) == 0:
			out = append(out, "Kafka: "+act)
		case len(shapes[act][Kafka]) == 0:
			out = append(out, "kz: "+act)
		}
	}
	return out
}
