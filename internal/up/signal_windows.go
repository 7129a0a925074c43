package up

import (
	"errors"
	"os"
)

var errNoPause = errors.New("there is no SIGSTOP on Windows: a process cannot be paused")

func pauseProcess(*os.Process) error { return errNoPause }

func resumeProcess(*os.Process) error { return errNoPause }

func pauseSelf() error { return errNoPause }

func canPause() error { return errNoPause }
