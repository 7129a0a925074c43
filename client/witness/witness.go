package witness

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
	"kz/internal/wire"
)

// A Pair is two brokers whose answers were compared.
type Pair struct{ A, B int32 }

// A Row counts, for one sort of question, the answers of each pair.
type Row struct {
	Sort      string `json:"sort"`
	Same      []int  `json:"same"`      // by pair, in the report's order
	Different []int  `json:"different"` // likewise
}

// A Report is what the asking came to.
type Report struct {
	Pairs       []Pair        `json:"pairs"`
	Rows        []Row         `json:"rows"`
	Differences []string      `json:"differences"` // each of them, with both answers
	APIs        map[int32]int `json:"apis"`        // how many APIs each broker lists
	Unlisted    []string      `json:"unlisted"`    // those that some list and some do not: never asked
	Narrowed    []string      `json:"narrowed"`    // those of which some list earlier versions: asked in the shared ones
}

// Different is how many answers of any pair differed.
func (r Report) Different() int { return len(r.Differences) }

// Same is how many answers of any pair were the same.
func (r Report) Same() int {
	n := 0
	for _, row := range r.Rows {
		for _, same := range row.Same {
			n += same
		}
	}
	return n
}

// A Witness holds a connection to each broker.
type Witness struct {
	brokers []int32
	conns   map[int32]*wire.Conn
	listed  map[int32]map[int16]versions
}

// versions is a range of one API.
type versions struct{ min, max int16 }

// New connects to the brokers and asks for their versions.
func New(ctx context.Context, n link.Network, addrs map[int32]string) (*Witness, error) {
	w := &Witness{brokers: slices.Sorted(maps.Keys(addrs)), conns: map[int32]*wire.Conn{}, listed: map[int32]map[int16]versions{}}
	for _, id := range w.brokers {
		c, err := wire.Dial(ctx, n, addrs[id], "witness")
		if err != nil {
			w.Close()
			return nil, err
		}
		w.conns[id] = c
		resp, err := c.Do(ctx, kmsg.NewPtrApiVersionsRequest())
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("broker %d does not tell its versions: %w", id, err)
		}
		w.listed[id] = map[int16]versions{}
		for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
			w.listed[id][k.ApiKey] = versions{k.MinVersion, k.MaxVersion}
		}
	}
	return w, nil
}

// Close hangs up.
func (w *Witness) Close() {
	for _, c := range w.conns {
		_ = c.Close()
	}
}

// shared is the versions that all brokers have in common, and the APIs that only some list.
func (w *Witness) shared() (map[int16]versions, []string) {
	common, unlisted := map[int16]versions{}, []string{}
	for key := range int16(kmsg.MaxKey + 1) {
		listing := 0
		v := versions{0, kmsg.MaxKey}
		for _, id := range w.brokers {
			if r, ok := w.listed[id][key]; ok {
				listing++
				v = versions{max(v.min, r.min), min(v.max, r.max)}
			}
		}
		switch {
		case listing == len(w.brokers):
			common[key] = v
		case listing > 0:
			unlisted = append(unlisted, kmsg.NameForKey(key))
		}
	}
	return common, unlisted
}

// Look asks Metadata and where each log ends, and says whether all brokers agree and have nothing left to
// replicate. Nobody may write meanwhile.
func (w *Witness) Look(ctx context.Context, topic string) (s Scene, quiet bool, err error) {
	s.Topic = topic
	var first string
	for _, id := range w.brokers {
		req := kmsg.NewPtrMetadataRequest()
		req.SetVersion(7)
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
		resp, err := w.conns[id].Do(ctx, req)
		if err != nil {
			return s, false, err
		}
		m := resp.(*kmsg.MetadataResponse)
		slices.SortFunc(m.Topics[0].Partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition - b.Partition) })
		s.Controller, s.Leaders, s.Epochs = m.ControllerID, nil, nil
		for _, p := range m.Topics[0].Partitions {
			if p.Leader < 0 || len(p.ISR) < len(w.brokers) || len(m.Brokers) < len(w.brokers) {
				return s, false, nil
			}
			s.Leaders, s.Epochs = append(s.Leaders, p.Leader), append(s.Epochs, p.LeaderEpoch)
		}
		if now := fmt.Sprint(s.Controller, asJSON(m.Topics)); first == "" {
			first = now
		} else if now != first {
			return s, false, nil
		}
	}
	quiet, err = w.ends(ctx, &s)
	return s, quiet && len(s.Leaders) > 0, err
}

// ends reads where the partitions end, and whether every broker has the same and knows it as committed.
func (w *Witness) ends(ctx context.Context, s *Scene) (bool, error) {
	s.Ends = make([]int64, len(s.Leaders))
	latest, marks := offsetQuestions(*s, 5)[0], fetchQuestions(*s, 11)[1]
	for i, id := range w.brokers {
		offsets, err := w.do(ctx, id, latest, 5)
		if err != nil {
			return false, err
		}
		for _, p := range offsets.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
			if i > 0 && s.Ends[p.Partition] != p.Offset || p.ErrorCode != 0 {
				return false, nil
			}
			s.Ends[p.Partition] = p.Offset
		}
		fetched, err := w.do(ctx, id, marks, 11)
		if err != nil {
			return false, err
		}
		for _, p := range fetched.(*kmsg.FetchResponse).Topics[0].Partitions {
			if p.HighWatermark != s.Ends[p.Partition] {
				return false, nil
			}
		}
	}
	return true, nil
}

func (w *Witness) do(ctx context.Context, id int32, q question, version int16) (kmsg.Response, error) {
	req := q.ask(id)
	req.SetVersion(version)
	return w.conns[id].Do(ctx, req)
}

// Compare asks everything of every broker.
func (w *Witness) Compare(ctx context.Context, s Scene) (Report, error) {
	r := Report{APIs: map[int32]int{}, Differences: []string{}}
	common, unlisted := w.shared()
	r.Unlisted = unlisted
	for i, a := range w.brokers {
		r.APIs[a] = len(w.listed[a])
		for _, b := range w.brokers[i+1:] {
			r.Pairs = append(r.Pairs, Pair{a, b})
		}
	}
	w.compareVersions(&r, common)
	for _, q := range questions(s, common) {
		answers := map[int32]said{}
		for _, id := range w.brokers {
			req := q.ask(id)
			if req == nil {
				continue
			}
			resp, err := w.conns[id].Do(ctx, req)
			if err != nil {
				return r, fmt.Errorf("broker %d, %s v%d (%s): %w", id, kmsg.NameForKey(req.Key()), req.GetVersion(), q.name, err)
			}
			answers[id] = heard(resp)
			answers[id]["?"] = fmt.Sprintf("%s v%d, %s", kmsg.NameForKey(req.Key()), req.GetVersion(), q.name)
		}
		r.count(q.sort, answers)
	}
	slices.Sort(r.Differences)
	return r, nil
}

// compareVersions counts the highest versions of the APIs that all list. Where the lowest differ the shared
// range is asked, and the report says so.
func (w *Witness) compareVersions(r *Report, common map[int16]versions) {
	for _, key := range slices.Sorted(maps.Keys(common)) {
		answers := map[int32]said{}
		for _, id := range w.brokers {
			v := w.listed[id][key]
			answers[id] = said{"": fmt.Sprint(v.max), "?": "highest version of " + kmsg.NameForKey(key)}
			if v.min < common[key].min && !slices.Contains(r.Narrowed, kmsg.NameForKey(key)) {
				r.Narrowed = append(r.Narrowed, kmsg.NameForKey(key))
			}
		}
		r.count("ApiVersions", answers)
	}
}

// count compares the answers of each pair, line by line, as far as both were asked about it.
func (r *Report) count(sort string, answers map[int32]said) {
	row := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Sort == sort })
	if row < 0 {
		row = len(r.Rows)
		r.Rows = append(r.Rows, Row{sort, make([]int, len(r.Pairs)), make([]int, len(r.Pairs))})
	}
	for i, pair := range r.Pairs {
		a, b := answers[pair.A], answers[pair.B]
		for about, line := range a {
			other, both := b[about]
			switch {
			case !both || about == "?":
			case line == other:
				r.Rows[row].Same[i]++
			default:
				r.Rows[row].Different[i]++
				r.Differences = append(r.Differences, fmt.Sprintf("%s %s: broker %d %s, broker %d %s", a["?"], about, pair.A, line, pair.B, other))
			}
		}
	}
}
