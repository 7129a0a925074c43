//go:build !unix

package broker

import "github.com/rs/zerolog"

// raiseFileLimit: this system has no such limit.
func raiseFileLimit(zerolog.Logger) {}
