//go:build mutant

package mutant

import (
	"os"
	"slices"
)

// off is the rule that this process does not keep; empty: it keeps them all.
var off = chosen(os.Getenv("KZ_MUTANT"))

func chosen(name string) string {
	if name != "" && !slices.Contains(Names, name) {
		panic("KZ_MUTANT=" + name + " is no rule that can be switched off")
	}
	return name
}

func TruncateAtHW() bool            { return off == Names[0] }
func HWIsLEO() bool                 { return off == Names[1] }
func AnyEpoch() bool                { return off == Names[2] }
func UnconditionalStateWrite() bool { return off == Names[3] }
func LeaderNotInISR() bool          { return off == Names[4] }
func AckBeforeISR() bool            { return off == Names[5] }
