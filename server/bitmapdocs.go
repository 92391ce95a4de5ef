package server

// bitmapDocs are the docs of the commands on bitmaps.
var bitmapDocs = map[string]doc{
	"bitcount":    {complexity: perValueByte, syntax: "key:key index=[start:integer end:integer index_unit=[BYTE|BIT]@7.0.0]"},
	"bitfield":    {complexity: perBitField, syntax: "key:key operation=[GET encoding_offset=(encoding offset:integer)|write=([OVERFLOW wrap_sat_fail=(WRAP|SAT|FAIL)] write_operation=(SET encoding_offset_value=(encoding offset:integer value:integer)|INCRBY encoding_offset_increment=(encoding offset:integer increment:integer)))]..."},
	"bitfield_ro": {complexity: perBitField, syntax: "key:key [GET encoding_offset=(encoding offset:integer)+...]"},
	"bitop":       {complexity: "O(N) where N is the number of bytes of all sources.", syntax: "operation=(AND|OR|XOR|NOT|DIFF@8.2.0|DIFF1@8.2.0|ANDOR@8.2.0|ONE@8.2.0) destkey:key key:key..."},
	"bitpos":      {complexity: perValueByte, syntax: "key:key bit:integer index=[start:integer end_index=[end:integer index_unit=[BYTE|BIT]@7.0.0]]"},
	"getbit":      {complexity: "O(1)", syntax: "key:key offset:integer"},
	"setbit":      {complexity: "O(1), and what it takes to make the value longer.", syntax: "key:key offset:integer value:integer"},
}

const perBitField = "O(1) for each operation, and what it takes to make the value longer."
