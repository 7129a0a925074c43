package zkserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The four-letter words about watches. Unlike the real server's they count watches on
// children, too.

func (s *Server) countWatches() int {
	n := 0
	for _, w := range []*watchTable{s.dataWatches, s.childWatches} {
		for _, watchers := range w.byPath {
			n += len(watchers)
		}
	}
	return n
}

// watchers are the sessions that watch each path, without repetition, sorted.
func (s *Server) watchers() map[string][]string {
	found := map[string][]string{}
	for _, w := range []*watchTable{s.dataWatches, s.childWatches} {
		for path, conns := range w.byPath {
			for c := range conns {
				if id := sessionName(c.sessionID()); !slices.Contains(found[path], id) {
					found[path] = append(found[path], id)
				}
			}
		}
	}
	for _, ids := range found {
		slices.Sort(ids)
	}
	return found
}

func (s *Server) printWatchSummary(b *strings.Builder) {
	conns := map[*conn]struct{}{}
	for _, w := range []*watchTable{s.dataWatches, s.childWatches} {
		for c := range w.byConn {
			conns[c] = struct{}{}
		}
	}
	fmt.Fprintf(b, "%d connections watching %d paths\nTotal watches:%d\n", len(conns), len(s.watchers()), s.countWatches())
}

func (s *Server) printWatchesByPath(b *strings.Builder) {
	found := s.watchers()
	for _, path := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(b, "%s\n\t%s\n", path, strings.Join(found[path], "\n\t"))
	}
	b.WriteString("\n")
}

func (s *Server) printWatchesBySession(b *strings.Builder) {
	bySession := map[string][]string{}
	for path, ids := range s.watchers() {
		for _, id := range ids {
			bySession[id] = append(bySession[id], path)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(bySession)) {
		slices.Sort(bySession[id])
		fmt.Fprintf(b, "%s\n\t%s\n", id, strings.Join(bySession[id], "\n\t"))
	}
	b.WriteString("\n")
}
