package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/internal/link"
	"kz/internal/zk"
	"kz/internal/zkserver"
)

func zkSessionsCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "sessions", Usage: "list the sessions of a ZooKeeper server: whose, timeout, watches, ephemerals",
		UsageText: "kz zk sessions [--zookeeper ADDRESS] [-o json]",
		Description: "Asks with the four-letter words dump, cons and, for the watches, wchc. The real ZooKeeper answers\n" +
			"them only when its zoo.cfg says 4lw.commands.whitelist=srvr,dump,cons,wchc; the embedded one always\n" +
			"does. A session without a connection still lives: until it times out, so do its ephemerals.",
		Flags:        zkFlags(),
		OnUsageError: usageError,
		Action:       flagsOnly(func(c *ucli.Context) error { return runZkSessions(c, e) }),
	}
}

// A zkSession is what the two words say of one session.
type zkSession struct {
	ID         string   `json:"session"`
	Owner      string   `json:"owner"`     // "broker 2", "broker 2, controller", "consumer of g"; "" for another client
	TimeoutMs  *int64   `json:"timeoutMs"` // nil without a connection: the server then does not say
	Opened     *string  `json:"opened"`    // nil: only the log of the embedded server, on this machine, says
	Connected  bool     `json:"connected"`
	Since      *string  `json:"connectedSince"`
	From       *string  `json:"from"`
	Watches    *int     `json:"watches"` // paths it watches; nil: the server does not say
	Ephemerals []string `json:"ephemerals"`
}

func runZkSessions(c *ucli.Context, e *env) error {
	asJSON, err := zkFormat(c)
	if err != nil {
		return err
	}
	address, err := zkAddress(c, e)
	if err != nil {
		return err
	}
	servers, _, err := zk.ParseConnect(address)
	if err != nil {
		return exitf(exitUsage, "kz zk: %v.", err)
	}
	ctx, cancel := context.WithTimeout(c.Context, zkWait)
	defer cancel()
	sessions, err := askSessions(ctx, e.network, servers)
	if cluster, running := runningCluster(c.Context); running && cluster.ZooKeeper == address {
		readOpenings(sessions, filepath.Join(cluster.Dir, "zookeeper", filesBelow))
	}
	switch {
	case errors.Is(err, errNotWhitelisted):
		return exitf(exitFailed, "kz zk sessions: %v.\nPut 4lw.commands.whitelist=srvr,dump,cons,wchc into its zoo.cfg and start it again.", err)
	case err != nil:
		return exitf(exitNoCluster, "kz zk sessions: %v. Is ZooKeeper running? Say where with --zookeeper host:port.", err)
	case asJSON:
		return printLine(e.stdout, struct {
			Sessions []zkSession `json:"sessions"`
		}{sessions})
	}
	printSessions(e.stdout, sessions)
	return nil
}

var errNotWhitelisted = errors.New("the server refuses the word")

// askSessions asks every server it is given for its connections and watches, and the first
// that answers for all sessions: those an ensemble shares, connections it does not.
func askSessions(ctx context.Context, n link.Network, servers []string) ([]zkSession, error) {
	var dump string
	var conns, watches []string
	var failures []error
	for _, addr := range servers {
		text, err := fourLetterWord(ctx, n, addr, "dump")
		if err == nil {
			dump = text
			text, err = fourLetterWord(ctx, n, addr, "cons")
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		conns = append(conns, text)
		switch text, err = fourLetterWord(ctx, n, addr, "wchc"); {
		case err == nil:
			watches = append(watches, text)
		case !errors.Is(err, errNotWhitelisted): // without the watches the rest is worth having
			failures = append(failures, err)
		}
	}
	if dump == "" || len(conns) == 0 {
		return nil, errors.Join(failures...)
	}
	sessions := readSessions(dump, strings.Join(conns, "\n"))
	if len(watches) == len(servers) {
		countWatches(sessions, strings.Join(watches, "\n"))
	}
	return sessions, nil
}

// maxWord bounds an answer to a word: 100,000 sessions with an ephemeral each.
const maxWord = 16 << 20

func fourLetterWord(ctx context.Context, n link.Network, addr, word string) (string, error) {
	conn, err := n.Dial(ctx, addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(conn, maxWord))
	switch ne := net.Error(nil); {
	case errors.As(err, &ne) && ne.Timeout():
		return "", fmt.Errorf("no answer from %s to %q within %v", addr, word, zkWait)
	case err != nil && len(b) == 0:
		return "", err
	case strings.Contains(string(b), "not in the whitelist"), len(b) == 0:
		return "", fmt.Errorf("%w %q at %s", errNotWhitelisted, word, addr)
	}
	return string(b), nil
}

var (
	sessionLine    = regexp.MustCompile(`^\s+(0x[0-9a-f]+)\s*$`)
	ownerLine      = regexp.MustCompile(`^(0x[0-9a-f]+):$`)
	connectionLine = regexp.MustCompile(`^ ?/(\S+?)\[\d+\]\((.*)\)\s*$`)
)

// readSessions puts together what dump and cons say. Their first lines are titles:
//
//	dump   SessionTracker dump: … expire at DATE: / TAB ID …
//	       ephemeral nodes dump: … ID: / TAB PATH …
//	       Connections dump: … (of the real server only)
//	cons   /ADDRESS[1](queued=0,…,sid=ID,…,est=MILLISECONDS,to=TIMEOUT,…)
func readSessions(dump, cons string) []zkSession {
	found := map[string]*zkSession{}
	get := func(id string) *zkSession {
		if found[id] == nil {
			found[id] = &zkSession{ID: id, Ephemerals: []string{}}
		}
		return found[id]
	}
	part, owner := "", ""
	for line := range strings.Lines(dump) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasSuffix(line, " dump:") {
			part = strings.TrimSuffix(line, " dump:")
			continue
		}
		switch part {
		case "SessionTracker":
			if m := sessionLine.FindStringSubmatch(line); m != nil {
				get(m[1])
			}
		case "ephemeral nodes":
			if m := ownerLine.FindStringSubmatch(line); m != nil {
				owner = m[1]
			} else if path, ok := strings.CutPrefix(line, "\t"); ok && owner != "" {
				get(owner).Ephemerals = append(get(owner).Ephemerals, path)
			}
		}
	}
	for line := range strings.Lines(cons) {
		if m := connectionLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			readConnection(m[1], m[2], get)
		}
	}
	out := []zkSession{}
	for _, s := range found {
		slices.Sort(s.Ephemerals)
		s.Owner = ownerOf(s.Ephemerals)
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b zkSession) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// countWatches reads wchc, which tells of every session that watches: ID / TAB PATH …
func countWatches(sessions []zkSession, wchc string) {
	count, owner := map[string]int{}, ""
	for line := range strings.Lines(wchc) {
		switch line = strings.TrimRight(line, "\r\n"); {
		case strings.HasPrefix(line, "\t"):
			count[owner]++
		case line != "":
			owner = line
		}
	}
	for i := range sessions {
		n := count[sessions[i].ID]
		sessions[i].Watches = &n
	}
}

const sessionTime = "2006-01-02T15:04:05.000Z"

// readConnection reads a line of cons. One without a session is who asks, or who has just come.
func readConnection(from, facts string, get func(string) *zkSession) {
	fields := map[string]string{}
	for f := range strings.SplitSeq(facts, ",") {
		k, v, _ := strings.Cut(f, "=")
		fields[k] = v
	}
	id := fields["sid"]
	if id == "" || id == "0x0" {
		return
	}
	s := get(id)
	s.Connected, s.From = true, &from
	if ms, err := strconv.ParseInt(fields["to"], 10, 64); err == nil {
		s.TimeoutMs = &ms
	}
	if ms, err := strconv.ParseInt(fields["est"], 10, 64); err == nil {
		at := time.UnixMilli(ms).UTC().Format(sessionTime)
		s.Since = &at
	}
}

// readOpenings adds what the log of the embedded server says of when sessions were opened.
// A log that is not there, or begins later, leaves it open.
func readOpenings(sessions []zkSession, dir string) {
	changes, err := zkserver.History(dir)
	if err != nil {
		return
	}
	for _, ch := range changes {
		if ch.Op != "createSession" {
			continue
		}
		for i := range sessions {
			if s := &sessions[i]; s.ID == hexZxid(ch.Session) {
				at, timeout := ch.At.UTC().Format(sessionTime), int64(ch.Timeout)
				if s.Opened = &at; s.TimeoutMs == nil {
					s.TimeoutMs = &timeout
				}
			}
		}
	}
}

// memberNode is where a consumer of 0.8 says that it is there.
var memberNode = regexp.MustCompile(`/consumers/([^/]+)/ids/[^/]+$`)

// ownerOf says who it is by what only that one makes.
func ownerOf(ephemerals []string) string {
	owner := ""
	for _, path := range ephemerals {
		if m := brokerNode.FindStringSubmatch(path); m != nil {
			owner = "broker " + m[1]
		} else if m := memberNode.FindStringSubmatch(path); m != nil {
			owner = "consumer of " + m[1]
		}
	}
	if slices.ContainsFunc(ephemerals, func(p string) bool { return strings.HasSuffix(p, "/controller") }) {
		owner = strings.TrimPrefix(owner+", controller", ", ")
	}
	return owner
}

func printSessions(out io.Writer, sessions []zkSession) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SESSION\tOWNER\tTIMEOUT\tOPENED\tCONNECTED SINCE\tFROM\tWATCHES\tEPHEMERALS")
	orDash := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	for _, s := range sessions {
		owner, timeout, since, watches := s.Owner, "unknown", "no connection", "-"
		if owner == "" {
			owner = "-"
		}
		if s.TimeoutMs != nil {
			timeout = fmt.Sprintf("%d ms", *s.TimeoutMs)
		}
		if s.Connected {
			since = orDash(s.Since)
		}
		if s.Watches != nil {
			watches = strconv.Itoa(*s.Watches)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.ID, owner, timeout, orDash(s.Opened), since, orDash(s.From), watches, strings.Join(s.Ephemerals, " "))
	}
	_ = w.Flush() // as every write to stdout: who closed it knows
}
