package up

import "syscall"

// ownGroup keeps a terminal's Ctrl-C from a child: the parent decides who stops when.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// ownSession also frees a process from the terminal, whose end it must not notice.
func ownSession() *syscall.SysProcAttr {
	const detachedProcess = 0x8
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
