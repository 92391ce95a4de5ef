package server

// bitmapDocs are the docs of the commands on bitmaps.
var bitmapDocs = map[string]doc{
	"bitcount":    {complexity: perValueByte, syntax: "key:key range=[start:integer end:integer unit=[BYTE|BIT]@7.0.0]"},
	"bitfield":    {complexity: perBitField, syntax: "key:key operation=[get-block=(GET encoding offset:integer)|write=(overflow-block=[OVERFLOW behavior=(WRAP|SAT|FAIL)] write-operation=(set-block=(SET encoding offset:integer value:integer)|incrby-block=(INCRBY encoding offset:integer increment:integer)))]..."},
	"bitfield_ro": {complexity: perBitField, syntax: "key:key get-block=[GET encoding offset:integer]..."},
	"bitop":       {complexity: "O(N) where N is the number of bytes of all sources.", syntax: "operation=(AND|OR|XOR|NOT|DIFF@8.2.0|DIFF1@8.2.0|ANDOR@8.2.0|ONE@8.2.0) destkey:key key:key..."},
	"bitpos":      {complexity: perValueByte, syntax: "key:key bit:integer range=[start:integer end-unit-block=[end:integer unit=[BYTE|BIT]@7.0.0]]"},
	"getbit":      {complexity: "O(1)", syntax: "key:key offset:integer"},
	"setbit":      {complexity: "O(1), and what it takes to make the value longer.", syntax: "key:key offset:integer value:integer"},
}

const perBitField = "O(1) for each operation, and what it takes to make the value longer."
