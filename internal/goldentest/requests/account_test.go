package requests

import (
	"testing"

	"kz/internal/fidelity"
)

// notPlayed are the phases that neither this package nor the controller's stories play.
var notPlayed = map[string]struct {
	verdict fidelity.Verdict
	why     string
}{
	"4":  {fidelity.Uncompared, "tools point at broker 9; no controller speaks"},
	"12": {fidelity.Refused, "reassignment"},
	"13": {fidelity.Refused, "reassignment"},
	"25": {fidelity.Refused, "transactions"},
	"26": {fidelity.Uncompared, "a follower's Fetch gets an error; no controller speaks. The fetcher's own tests have each code"},
	"27": {fidelity.Uncompared, "as 26"},
	"28": {fidelity.Uncompared, "as 26"},
	"29": {fidelity.Uncompared, "as 26"},
	"30": {fidelity.Uncompared, "nothing is elected and nothing is sent"},
	"33": {fidelity.Refused, "topic deletion"},
	"34": {fidelity.Refused, "topic deletion"},
	"40": {fidelity.Refused, "topic deletion"},
}

// What is not played is in the account, too.
func TestPhasesNotPlayed(t *testing.T) {
	sheet := fidelity.Open(t, "requests/not-played")
	for phase, n := range notPlayed {
		sheet.Add("phase "+phase, "", n.verdict, n.why)
	}
}
