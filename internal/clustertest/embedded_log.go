package clustertest

import (
	"testing"

	"kz/internal/zkserver"
)

// Txns is what was written to it.
func (e *Embedded) Txns(t testing.TB) []Txn {
	t.Helper()
	txns, err := embeddedTxns(e.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return txns
}

// embeddedTxns is the log of the embedded ZooKeeper in the form of Apache ZooKeeper's, so that the same
// checks read both. It has no failed writes, and no numbers of requests. Its oldest files must be there:
// the versions that writes came to are counted from the first.
func embeddedTxns(dir string) ([]Txn, error) {
	changes, err := zkserver.History(dir)
	if err != nil {
		return nil, err
	}
	version := map[string]int32{}
	ends := map[int64]bool{} // zxids that end a session: what goes with it is not told apart
	for _, c := range changes {
		if c.Op == "closeSession" {
			ends[c.Zxid] = true
		}
	}
	var out []Txn
	for _, c := range changes {
		x := Txn{Zxid: c.Zxid, At: c.At, Session: c.Session, Path: c.Path, Data: c.Data, Ephem: c.Ephemeral, Timeout: c.Timeout}
		switch c.Op {
		case "create":
			x.Type, version[c.Path] = "create", 0
		case "setData":
			version[c.Path]++
			x.Type, x.Version = "set", version[c.Path]
		case "delete":
			if ends[c.Zxid] {
				continue
			}
			x.Type = "delete"
		case "check":
			x.Type, x.Version = "check", c.Version
		case "setACL":
			x.Type = "set-acl"
		case "createSession":
			x.Type = "open-session"
		case "closeSession":
			x.Type = "close-session"
		}
		out = append(out, x)
	}
	return out, nil
}
