package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	backtick = regexp.MustCompile("`([A-Za-z0-9_.][A-Za-z0-9_./-]*)`")
)

// pathLike says whether a word in backticks means a file or package of this
// repository: its first part is one of our directories.
func pathLike(word string) bool {
	first, rest, found := strings.Cut(word, "/")
	if !found || rest == "" {
		return false
	}
	switch first {
	case "broker", "client", "controller", "docs", "internal", "scripts", "zkpaths", ".ci":
		return true
	}
	return false
}

func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, f := range files(t) {
		if strings.HasSuffix(f, ".md") {
			out = append(out, f)
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d documents found", len(out))
	}
	return out
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// A relative link leads to a file, and its #part to a heading there.
func TestLinksResolve(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(withoutCode(read(t, doc)), -1) {
			target := m[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			name, part, _ := strings.Cut(target, "#")
			if name == "" {
				name = path.Base(doc)
			}
			name = path.Join(path.Dir(doc), name)
			if !exists(name) {
				t.Errorf("%s: the link %s leads nowhere", doc, target)
				continue
			}
			if part != "" && strings.HasSuffix(name, ".md") && !hasHeading(read(t, name), part) {
				t.Errorf("%s: %s has no heading #%s", doc, name, part)
			}
		}
	}
}

// A `path/in/backticks` is there. Names of identifiers behind a path (`client/producer.go: New`) are not checked.
func TestMentionedPathsExist(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range backtick.FindAllStringSubmatch(withoutCode(read(t, doc)), -1) {
			word := strings.TrimSuffix(m[1], "/")
			if pathLike(word) && !exists(word) && !exists(beforeDot(word)) {
				t.Errorf("%s: `%s` does not exist", doc, m[1])
			}
		}
	}
}

// beforeDot turns `client/producer.Config` into client/producer.
func beforeDot(word string) string {
	dir, base := path.Split(word)
	name, _, _ := strings.Cut(base, ".")
	return dir + name
}

var fence = regexp.MustCompile("(?s)```.*?```")

func withoutCode(text string) string { return fence.ReplaceAllString(text, "") }

var notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// hasHeading compares as GitHub makes anchors: lower case, no punctuation, dashes for blanks.
func hasHeading(text, part string) bool {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.TrimSpace(strings.TrimLeft(line, "#"))
		anchor := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		if anchor == part {
			return true
		}
	}
	return false
}
