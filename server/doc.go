// Package server turns bytes into commands and commands into replies.
//
// The way of a command: a transport (package transport) reads bytes and feeds them to the client's session, a
// pure state machine ([client]); the session cuts complete frames out of them (parser.go) and hands each to
// dispatch (dispatch.go), which finds the row in the command table (command.go), passes the gates in Redis's
// order, locks the shards of the row's keys through the slot's [store.View] and calls the handler. A handler
// parses its arguments, calls one store method and appends one reply (reply.go); the transport writes the
// replies of a whole pipeline batch at once.
//
// # Slots and the gate
//
// A slot belongs to one event loop: its view, its hot key recorder, its counters, its scratch memory. A loop
// holds its slot's mutex while it runs a batch. Whoever holds the mutexes of all slots has closed the gate
// (gate.go): nothing else runs, so exclusive work (FLUSHALL, CONFIG SET, INFO, the rotation of hot key windows)
// needs no other lock and may read and change whatever slots and sessions own. State that dispatch tests
// without a lock (pause, tracking on or off) changes only under the gate.
//
// Lock order: gate.exclusive, slot mutexes in ascending order, shard locks in ascending order (inside store),
// and as leaves the client registry's mutex, that of the channels, that of the reports of hot keys and the page allocator's.
//
// # Where things are
//
// One file per command family holds its rows and its handlers; what COMMAND DOCS says of them is in commanddocs.go and, for
// the data types, in a file each (listdocs.go, ...): string.go, list.go, hash.go, set.go, zset.go, stream.go, bitmap.go,
// hyperloglog.go, geo.go, sort.go, dump.go, keys.go, connection.go, clients.go (and client*.go), transactions.go,
// introspect.go (COMMAND), admin.go (CONFIG, SHUTDOWN, ...), debug.go, hotkeys.go (its options
// and measures: hotevidence.go, its past: hothistory.go, its sessions: hotsession.go, its controller: hotcontrol.go, hotstates.go, hotreports.go, serverload.go), pubsub.go. The large families go on in
// files that begin with their name (zsetrange.go, streamread.go, ...). How commands wait is in blocking.go; what happens to
// keys is published in notify.go, client-side caching is in tracking.go. Users and their permissions are in accounts.go and acl.go. Functions are in
// functions.go; package lua runs them. The page of hot keys and the metrics are package web's; web.go serves it, webview.go
// gathers what it shows. The parameters stand in params.go,
// the INFO sections in infosections.go. To add a command: a row, a handler, a store method with its event, a golden script.
package server
