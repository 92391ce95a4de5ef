// Package rdb is the serialization of values that DUMP writes and RESTORE reads, and that RDB files are made of: lengths,
// strings and numbers, the types of values, the footer of a payload, and the packed forms that only old servers wrote.
// What a value of each type consists of is known to package store.
//
// A payload is
//
//	┌──────┬─────────────┬────────────────┬──────────────┐
//	│ type │ value …     │ version        │ CRC-64       │
//	│ 1    │             │ 2, little end. │ 8, little e. │
//	└──────┴─────────────┴────────────────┴──────────────┘
//
// A length is 1, 2, 5 or 9 bytes, by the two highest bits of the first:
//
//	00nnnnnn                    6 bits
//	01nnnnnn nnnnnnnn           14 bits, big-endian like all lengths
//	10000000 + 4 bytes          32 bits
//	10000001 + 8 bytes          64 bits
//	11eeeeee                    no length: a string of encoding e follows
//
// A string is a length and as many bytes, or, encoded, an integer of 8, 16 or 32 bits (little-endian) that stands for its
// decimal form, or a text compressed with LZF (lzf.go): compressed length, length, compressed bytes. For example the
// payload of the string "12" in version 10 begins 00 c0 0c 0a 00, and that of "hi" 00 02 68 69 0a 00.
//
// The format is that of rdb.c in Redis and of the file format notes of its documentation. Numbers of types are shared by
// Redis and Valkey up to 21; above, each has its own.
package rdb

import (
	"encoding/binary"
	"errors"
	"hash/crc64"
)

// A Type says how a value is written.
type Type byte

// The types of values. Those with a version in their comment are unknown to servers that write older ones.
const (
	String          Type = 0
	List            Type = 1 // elements; before version 7
	Set             Type = 2 // members
	ZsetText        Type = 3 // members and scores in decimal; before version 8
	Hash            Type = 4 // fields and values
	Zset            Type = 5 // members and scores as 64-bit floating point numbers
	HashZipmap      Type = 9 // before version 4, as the ziplists before version 10
	ListZiplist     Type = 10
	SetIntset       Type = 11
	ZsetZiplist     Type = 12
	HashZiplist     Type = 13
	ListZiplists    Type = 14 // a ziplist per node
	Stream          Type = 15 // without the first ID, the last deleted and the number added
	HashListpack    Type = 16 // version 10 (Redis 7.0), as the next three
	ZsetListpack    Type = 17
	ListQuicklist   Type = 18 // nodes, each a listpack or one element
	Stream2         Type = 19
	SetListpack     Type = 20 // version 11 (Redis 7.2)
	Stream3         Type = 21 // version 11, with the time at which a consumer was last served
	ValkeyHash      Type = 22 // version 80 (Valkey 9): fields, values and deadlines
	HashDeadlines   Type = 24 // version 12 (Redis 7.4): deadlines, fields and values
	HashListpackEx  Type = 25 // version 12: a listpack of fields, values and deadlines
	quicklistPlain       = 1
	quicklistPacked      = 2
)

// Versions of the format.
const (
	// Version is what payloads are written in: that of Redis 7.0, which all later servers read.
	Version = 10
	// DeadlinesVersion is the first that has fields with deadlines.
	DeadlinesVersion = 12
	// ValkeyVersion is that of Valkey 9. It has left those of Redis, from 12 on, aside.
	ValkeyVersion = 80
	// versionMax is the last version of Redis that is read.
	versionMax = 12
)

var (
	// ErrFooter says that a payload is cut short, of an unknown version, or not what was written.
	ErrFooter = errors.New("rdb: wrong version or checksum")
	// ErrFormat says that what should be a value is none.
	ErrFormat = errors.New("rdb: bad data format")
)

const (
	versionSize  = 2
	checksumSize = 8
)

// crcTable is for the polynomial of Jones, 0xad93d23594c935a9, whose bits package crc64 wants reversed.
var crcTable = crc64.MakeTable(0x95ac9329ac4bc9b5)

// Checksum continues the CRC-64 of a text, 0 at its beginning, with the next bytes.
func Checksum(crc uint64, b []byte) uint64 {
	// Package crc64 inverts the sum before and after; this one is not inverted.
	return ^crc64.Update(^crc, crcTable, b)
}

// Seal appends the footer to a payload that begins at dst[0].
func Seal(dst []byte, version uint16) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, version)
	return binary.LittleEndian.AppendUint64(dst, Checksum(0, dst))
}

// Open returns what the footer of a payload encloses, aliasing it, and its version. ErrFooter if the version is not one
// that is read, or the checksum is wrong.
func Open(payload []byte) (body []byte, version uint16, err error) {
	n := len(payload) - versionSize - checksumSize
	if n < 0 {
		return nil, 0, ErrFooter
	}
	version = binary.LittleEndian.Uint16(payload[n:])
	if version > versionMax && version != ValkeyVersion {
		return nil, 0, ErrFooter
	}
	if binary.LittleEndian.Uint64(payload[n+versionSize:]) != Checksum(0, payload[:n+versionSize]) {
		return nil, 0, ErrFooter
	}
	return payload[:n], version, nil
}
