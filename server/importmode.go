package server

import "bytes"

// While import-mode is on, some client copies the data of another server to this one, and that other server says when keys
// expire. Keys whose time is over stay here, then: the clients that import (CLIENT IMPORT-SOURCE) find them as if they were
// alive, all others find them missing. Nothing is evicted either. When the mode ends the keys expire as usual.

func clientImportSource(c *client, args [][]byte) {
	if !c.s.importing && !bytes.EqualFold(args[2], []byte("OFF")) {
		c.fail("ERR Server is not in import mode")
		return
	}
	c.onOff(args[2], &c.importSource)
}

// applyImportMode runs under the gate: dispatch reads the mode without a lock.
func (s *Server) applyImportMode() error {
	s.importing = s.params.importMode.Get()
	return nil
}

// keepsKeys tells whether no key may vanish by itself now: neither because its time is over nor to make room.
func (s *Server) keepsKeys(nowMs int64) bool { return s.importing || s.pause.lasts(nowMs) }
