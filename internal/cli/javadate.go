package cli

import (
	"fmt"
	"strings"
	"time"
)

// javaDate formats times by the part of Java's SimpleDateFormat that dates and times
// need: y M d H m s S, quoted text, and everything that is no letter as it is.
func javaDate(pattern string) (func(time.Time) string, error) {
	type piece struct {
		letter byte // 0: text
		width  int
		text   string
	}
	var pieces []piece
	for i := 0; i < len(pattern); {
		c := pattern[i]
		switch {
		case c == '\'':
			end := strings.IndexByte(pattern[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("Unterminated quote in date format %q", pattern)
			}
			s := pattern[i+1 : i+1+end]
			if s == "" {
				s = "'"
			}
			pieces = append(pieces, piece{text: s})
			i += end + 2
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			n := 1
			for i+n < len(pattern) && pattern[i+n] == c {
				n++
			}
			if !strings.ContainsRune("yMdHmsS", rune(c)) {
				return nil, fmt.Errorf("Illegal pattern character '%c': kz knows y M d H m s S", c)
			}
			pieces = append(pieces, piece{letter: c, width: n})
			i += n
		default:
			pieces = append(pieces, piece{text: string(c)})
			i++
		}
	}
	return func(t time.Time) string {
		var b strings.Builder
		for _, p := range pieces {
			if p.letter == 0 {
				b.WriteString(p.text)
				continue
			}
			fmt.Fprintf(&b, "%0*d", p.width, dateField(t, p.letter, p.width))
		}
		return b.String()
	}, nil
}

func dateField(t time.Time, letter byte, width int) int {
	switch letter {
	case 'y':
		if width == 2 {
			return t.Year() % 100
		}
		return t.Year()
	case 'M':
		return int(t.Month())
	case 'd':
		return t.Day()
	case 'H':
		return t.Hour()
	case 'm':
		return t.Minute()
	case 's':
		return t.Second()
	default:
		return t.Nanosecond() / int(time.Millisecond)
	}
}
