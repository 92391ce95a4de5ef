package store

import (
	"math/rand/v2"

	"kvserver/store/hll"
)

// PFAdd adds elements to the HyperLogLog at a key, which it makes if it is missing, and reports whether that made a
// difference: not to the elements that are in it, which nobody knows, but to the value.
func (v *View) PFAdd(key []byte, elements [][]byte) (changed bool, err error) {
	e := v.LookupWrite(key)
	s, ok, err := v.sketchToChange(e)
	if err != nil {
		return false, err
	}
	changed = !ok
	editor := v.editSketch(s)
	for _, element := range elements {
		c, ok := editor.Add(element)
		if !ok {
			return false, ErrCorruptHyperLogLog
		}
		changed = changed || c
	}
	if changed {
		v.saveSketch(key, e, editor)
		v.event(ClassString, "pfadd", key)
	}
	return changed, nil
}

// sketchOf returns the HyperLogLog of an entry; ok is false if there is no entry.
func sketchOf(e Entry) (s hll.Sketch, ok bool, err error) {
	switch {
	case !e.Exists():
		return nil, false, nil
	case !e.kind().isString():
		return nil, false, ErrWrongType
	case e.kind() == kindInt:
		return nil, false, ErrNotHyperLogLog
	}
	if s, ok = hll.Of(e.text()); !ok {
		return nil, false, ErrNotHyperLogLog
	}
	return s, true, nil
}

// sketchToChange is sketchOf for commands that may write: they make a string raw, whether or not they do write.
func (v *View) sketchToChange(e Entry) (s hll.Sketch, ok bool, err error) {
	if s, ok, err = sketchOf(e); ok {
		*(*kind)(e.at(kindAt)) = kindRaw
	}
	return s, ok, err
}

// editSketch returns an editor of a HyperLogLog, or of a new one for nil. A dense one is changed where it lies. A sparse
// one is copied, so that nothing has happened if it proves to be corrupt.
func (v *View) editSketch(s hll.Sketch) *hll.Editor {
	switch {
	case s == nil:
		s = hll.AppendEmpty(v.scratch[:0])
	case !s.Dense():
		s = append(hll.Sketch(v.scratch[:0]), s...)
	}
	return &hll.Editor{Sketch: s, SparseMax: v.store.encodings.HLLSparseBytes}
}

// saveSketch gives a key the HyperLogLog that was changed; e is the key's entry.
func (v *View) saveSketch(key []byte, e Entry, editor *hll.Editor) {
	s := editor.Sketch
	s.Invalidate()
	dense := s.Dense()
	if was, ok, _ := sketchOf(e); ok && dense && was.Dense() {
		v.changed(key)
		return
	}
	if !dense {
		v.scratch = s[:0] // it may have grown
	}
	v.put(v.position(key), key, value{kind: kindRaw, bytes: s, owned: dense}, deadlineOf(e))
}

// PFCount returns how many distinct elements were added to the HyperLogLogs at keys, about. Of a single one the number is
// kept in the value, for next time.
func (v *View) PFCount(keys [][]byte) (int64, error) {
	if len(keys) > 1 {
		var m hll.Max
		_, err := v.mergeSketches(&m, keys)
		return m.Estimate(), err
	}
	s, ok, err := v.sketchToChange(v.Lookup(keys[0]))
	if !ok || err != nil {
		return 0, err
	}
	if n, ok := s.Cached(); ok {
		return n, nil
	}
	n, ok := s.Estimate()
	if !ok {
		return 0, ErrCorruptHyperLogLog
	}
	s.Cache(n)
	v.changed(keys[0])
	return n, nil
}

// mergeSketches looks up HyperLogLogs and adds them to m. It reports whether one of them is dense.
func (v *View) mergeSketches(m *hll.Max, keys [][]byte) (dense bool, err error) {
	for _, key := range keys {
		s, ok, err := sketchOf(v.Lookup(key))
		if err != nil {
			return false, err
		}
		if !ok {
			continue
		}
		dense = dense || s.Dense()
		if !m.Add(s) {
			return false, ErrCorruptHyperLogLog
		}
	}
	return dense, nil
}

// PFMerge makes the HyperLogLog at the first key the union of those at all keys. The first key is accessed twice: as one
// of the sources, and to be written.
func (v *View) PFMerge(keys [][]byte) error {
	var m hll.Max
	dense, err := v.mergeSketches(&m, keys)
	if err != nil {
		return err
	}
	e := v.LookupWrite(keys[0])
	s, _, err := v.sketchToChange(e)
	if err != nil {
		return err
	}
	editor := v.editSketch(s)
	if dense && !editor.Dense() && !editor.Promote() {
		return ErrCorruptHyperLogLog
	}
	for i, rank := range m {
		if rank == 0 {
			continue
		}
		if _, ok := editor.Raise(i, rank); !ok {
			return ErrCorruptHyperLogLog
		}
	}
	v.saveSketch(keys[0], e, editor)
	v.event(ClassString, "pfadd", keys[0])
	return nil
}

// existingSketch looks up a HyperLogLog that must be there.
func (v *View) existingSketch(key []byte) (hll.Sketch, Entry, error) {
	e := v.LookupWrite(key)
	s, ok, err := v.sketchToChange(e)
	if err == nil && !ok {
		err = ErrNoKey
	}
	return s, e, err
}

// PFToDense makes the HyperLogLog at a key dense, and reports whether it was not. What is in it, the kept number included,
// stays.
func (v *View) PFToDense(key []byte) (converted bool, err error) {
	s, e, err := v.existingSketch(key)
	if err != nil || s.Dense() {
		return false, err
	}
	d, ok := s.ToDense()
	if !ok {
		return false, ErrCorruptHyperLogLog
	}
	v.put(v.position(key), key, value{kind: kindRaw, bytes: d, owned: true}, deadlineOf(e))
	return true, nil
}

// PFRegisters returns the registers of the HyperLogLog at a key, which becomes dense if it is not.
func (v *View) PFRegisters(key []byte) (*hll.Max, error) {
	if _, err := v.PFToDense(key); err != nil {
		return nil, err
	}
	s, _, err := sketchOf(v.Peek(key))
	if err != nil {
		return nil, err
	}
	m := new(hll.Max)
	m.Add(s)
	return m, nil
}

// PFRuns returns the runs of the sparse HyperLogLog at a key, for people to read.
func (v *View) PFRuns(key []byte) ([]byte, error) {
	s, _, err := v.existingSketch(key)
	switch {
	case err != nil:
		return nil, err
	case s.Dense():
		return nil, ErrNotSparse
	}
	text, ok := s.AppendRuns(nil)
	if !ok {
		return nil, ErrCorruptHyperLogLog
	}
	return text, nil
}

// PFDense reports whether the HyperLogLog at a key is dense.
func (v *View) PFDense(key []byte) (bool, error) {
	s, _, err := v.existingSketch(key)
	return err == nil && s.Dense(), err
}

// PFSelfTest checks the arithmetic of HyperLogLogs and returns what is wrong.
func PFSelfTest() error { return hll.SelfTest(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))) }
