//go:build unix && !linux

package clustertest

import "syscall"

// diesWithParent: this system has no such thing; a killed test binary leaves its brokers.
func diesWithParent() *syscall.SysProcAttr { return nil }
