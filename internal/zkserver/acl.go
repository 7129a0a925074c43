package zkserver

import (
	"crypto/sha1"
	"encoding/base64"
	"net/netip"
	"slices"
	"strings"
)

// identity is one thing that a connection has proven to be. Every connection is an "ip";
// "digest" ones add up with each auth request and are lost with the connection.
type identity struct{ scheme, id string }

// authenticate turns credentials into an identity. The scheme ip proves nothing new.
func authenticate(scheme string, credential []byte, superDigest string) (identity, bool) {
	switch scheme {
	case "ip":
		return identity{}, true
	case "digest":
		user, _, found := strings.Cut(string(credential), ":")
		if !found { // ZooKeeper takes it for a name without a password
			return identity{"digest", user}, true
		}
		id := digest(user, credential)
		if id == superDigest {
			return identity{"super", ""}, true
		}
		return identity{"digest", id}, true
	}
	return identity{}, false
}

// digest is user:base64(sha1("user:password")).
func digest(user string, credential []byte) string {
	sum := sha1.Sum(credential)
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

// allows says whether one of who has the permission.
func allows(list []acl, perm int32, who []identity) bool {
	for _, a := range list {
		if a.perms&perm == 0 {
			continue
		}
		if a.scheme == "world" && a.id == "anyone" {
			return true
		}
		for _, w := range who {
			if w.scheme == a.scheme && (w.id == a.id || a.scheme == "ip" && inNetwork(a.id, w.id)) {
				return true
			}
		}
	}
	return slices.Contains(who, identity{"super", ""})
}

// normalACL is the list as it is stored: duplicates collapse, and "auth" becomes all
// digests of the one who asks.
func normalACL(list []acl, who []identity) ([]acl, code) {
	var out []acl
	add := func(a acl) {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	for _, a := range list {
		switch {
		case a.scheme == "world" && a.id == "anyone",
			a.scheme == "digest" && strings.Count(a.id, ":") == 1,
			a.scheme == "ip" && isNetwork(a.id):
			add(a)
		case a.scheme == "auth":
			found := false
			for _, w := range who {
				if w.scheme == "digest" {
					add(acl{a.perms, w.scheme, w.id})
					found = true
				}
			}
			if !found {
				return nil, invalidACL
			}
		default:
			return nil, invalidACL
		}
	}
	if len(out) == 0 {
		return nil, invalidACL
	}
	return shareACL(out), ok
}

// withoutHashes is how a list is shown to who may not change it.
func withoutHashes(list []acl) []acl {
	list = slices.Clone(list)
	for i, a := range list {
		if user, _, found := strings.Cut(a.id, ":"); found && a.scheme == "digest" {
			list[i].id = user + ":x"
		}
	}
	return list
}

// isNetwork says whether an ip entry is an address or a CIDR prefix.
func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	if err != nil {
		_, err = netip.ParseAddr(s)
	}
	return err == nil
}

func inNetwork(network, addr string) bool {
	p, err := netip.ParsePrefix(network)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(addr)
	return err == nil && p.Contains(a.Unmap())
}

// shareACL makes nodes with the usual list share it.
func shareACL(list []acl) []acl {
	if slices.Equal(list, openACL) {
		return openACL
	}
	return list
}
