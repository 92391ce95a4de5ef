package stream

import "math/bits"

// RadixNodes returns how many nodes the radix tree would have in which Redis keeps the blocks of such a stream, by their
// IDs as 16 bytes, most significant first. XINFO shows it. There is a node for every ID and for every place where several
// part, and one before each of these for the bytes that it alone has in common. It walks the blocks.
func (s *Stream) RadixNodes() int {
	if s.Blocks() == 0 {
		return 1
	}
	nodes := 0
	add := func(depth, parent int) {
		nodes++
		if depth-parent > 1 {
			nodes++
		}
	}
	forks := []int{-1} // depths of those above the last ID; -1 stands for the root
	// fork goes on to an ID that has depth bytes in common with the one before.
	fork := func(depth int) {
		for forks[len(forks)-1] > depth {
			top := forks[len(forks)-1]
			forks = forks[:len(forks)-1]
			add(top, max(depth, forks[len(forks)-1]))
		}
		if forks[len(forks)-1] < depth {
			forks = append(forks, depth)
		}
	}
	const idBytes = 16
	var before ID
	left := -1 // bytes that the ID before has in common with the one before it
	first := true
	s.EachBlock(func(id ID, _ []byte) {
		if !first {
			right := common(before, id)
			add(idBytes, max(left, right))
			fork(right)
			left = right
		}
		before, first = id, false
	})
	add(idBytes, left)
	fork(-1)
	return nodes
}

// common returns how many bytes two IDs have in common at the beginning.
func common(a, b ID) int {
	if a.Ms != b.Ms {
		return bits.LeadingZeros64(a.Ms^b.Ms) / 8
	}
	return 8 + bits.LeadingZeros64(a.Seq^b.Seq)/8
}
