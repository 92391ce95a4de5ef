// Package node asks one server about its hot keys. It speaks Valkey's HOTKEYS GET, which tells key, db and qps, and what
// kvserver adds: WITHSTATS, HISTORY, STATES and transitions by pub/sub.
//
// What a server can do is found out by asking. A command it refuses is not asked again until the connection was lost, since
// every refusal counts in its error statistics, or in its ACL log. Replies are read by field name, in RESP2 (flat arrays)
// and RESP3 (maps); a number that was not told is NaN, so that sums over servers of which one did not tell it are NaN too.
package node
