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

// distance is Levenshtein's: insertions, deletions and replacements, one row at a time.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
