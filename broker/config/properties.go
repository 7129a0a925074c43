package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxFileSize bounds what ReadProperties takes in.
const maxFileSize = 1 << 20

// ReadProperties reads a Java properties file of at most 1 MiB. As in Java, the last of
// two equal keys counts.
func ReadProperties(path string) (map[string]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxFileSize {
		return nil, fmt.Errorf("%s: %d bytes, a properties file has at most %d", path, st.Size(), maxFileSize)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	props, err := ParseProperties(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return props, nil
}

// ParseProperties reads the text of a Java properties file. Mirrors java.util.Properties.load:
// a line that ends in an odd number of backslashes goes on in the next; # and ! begin
// comment lines; the key ends at the first =, : or blank that no backslash stands
// before; \t \n \r \f and \uXXXX are escapes, any other escaped character is itself.
func ParseProperties(text string) (map[string]string, error) {
	props := map[string]string{}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line := strings.TrimLeft(lines[i], blanks)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for goesOn(line) {
			line = line[:len(line)-1]
			if i+1 == len(lines) {
				break
			}
			i++
			line += strings.TrimLeft(lines[i], blanks)
		}
		rawKey, rawValue := splitProperty(line)
		key, err := unescape(rawKey)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		value, err := unescape(rawValue)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", first, err)
		}
		props[key] = value
	}
	return props, nil
}

const blanks = " \t\f"

// goesOn: the line ends in an odd number of backslashes.
func goesOn(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

// splitProperty cuts at the first unescaped separator: blanks, at most one = or :, blanks.
func splitProperty(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=:"+blanks, line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], blanks)
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], blanks)
	}
	return line[:end], rest
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			out.WriteByte('\t')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 'f':
			out.WriteByte('\f')
		case 'u':
			unit, ok := hex4(s[i+1:])
			if !ok {
				return "", fmt.Errorf(`malformed \uXXXX in %q`, s)
			}
			i += 4
			r := rune(unit)
			if utf16.IsSurrogate(r) && strings.HasPrefix(s[i+1:], `\u`) {
				if low, ok := hex4(s[i+3:]); ok {
					if pair := utf16.DecodeRune(r, rune(low)); pair != '\uFFFD' {
						r, i = pair, i+6
					}
				}
			}
			out.WriteRune(r)
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), nil
}

func hex4(s string) (uint64, bool) {
	if len(s) < 4 {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:4], 16, 16)
	return v, err == nil
}
