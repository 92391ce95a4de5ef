// Package tests drives a running server from outside: every test here starts
// the built binary, or is given an address, and speaks to it over a socket with
// raw bytes and with the client libraries that people use. Nothing in it imports
// a package of the server.
//
// Expectations come from a real redis-server wherever there is one to ask: the
// golden scripts in testdata are its recorded answers, and the differential
// test sends random commands to both and compares. Where the two are meant to
// differ, the difference stands in a table with its reason.
//
// The differential test sends 4000 commands for each data type; -commands sends
// more, and -seed others:
//
//	go test ./tests -run Differential -commands 100000 -seed 2 -timeout 1h
//
// The environment chooses what is tested:
//
//	KVSERVER_ADDR  host:port of a server that already runs. Tests that need a
//	               server with arguments of its own are then skipped. Every
//	               database of that server is flushed.
//	KVSERVER_BIN   a server binary to start, instead of building cmd/kvserver.
//	PEER           the redis-server binary to compare with ("redis-server").
//	PEER_REQUIRED  if not empty, a missing peer, and missing Node or npm, fail the
//	               tests that need them rather than skipping them.
package tests
