// Package store is the keyspace: sharded, in position order, and cheap for the garbage collector.
package store
