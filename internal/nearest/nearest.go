// Package nearest guesses what a mistyped word was meant to be, for "did you mean". It is a pure
// function of the word and the words that exist.
package nearest

// To is the candidate that was probably meant: the smallest edit distance, at
// most about a third of the word (and at least one). "" when none is near.
func To(word string, candidates []string) string {
	best, bestDistance := "", max(1, (len(word)+1)/3)+1
	for _, c := range candidates {
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is Levenshtein's, in which two neighbours that changed places are one mistake,
// too, as fingers make it: insertions, deletions, replacements, swaps.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1) // the rows of a[:i-2] and a[:i-1]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := last[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
