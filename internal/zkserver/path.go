package zkserver

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// splitPath cuts "/a/b" into "/a" and "b"; the parent of "/a" is "".
func splitPath(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}

// hasParent says whether a path can be split at all. ZooKeeper looks at this much before
// it looks at the tree, and at the rest after.
func hasParent(path string) bool {
	return strings.IndexByte(path, '/') >= 0 && strings.IndexByte(path, 0) < 0
}

// validPath is PathUtils.validatePath. Java looks at UTF-16 units, so whatever needs two
// of them (U+10000 and above) is as invalid as a lone surrogate.
func validPath(path string) bool {
	if path == "/" {
		return true
	}
	if path == "" || path[0] != '/' || !utf8.ValidString(path) {
		return false
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		if name == "" || name == "." || name == ".." {
			return false
		}
	}
	return strings.IndexFunc(path, forbidden) < 0
}

func forbidden(r rune) bool {
	return r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0
}

// undeletable are the nodes that a ZooKeeper cannot be without.
func undeletable(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}

// sequenceName appends the counter of the parent.
func sequenceName(path string, counter int32) string { return fmt.Sprintf("%s%010d", path, counter) }
