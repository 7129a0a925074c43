package zktest

import "path/filepath"

// DataDir is the server's data directory; its transaction logs are in version-2 below it.
func (s *Server) DataDir() string { return filepath.Join(s.dir, "data") }
