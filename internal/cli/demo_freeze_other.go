//go:build !unix

package cli

import "errors"

// cannotFreeze is why zombie-leader cannot be told on this system.
const cannotFreeze = "this story freezes a process with SIGSTOP, which this system does not have (Windows). Watch kz demo kill-a-broker instead."

func freeze(int) error { return errors.New(cannotFreeze) }
func thaw(int) error   { return errors.New(cannotFreeze) }
