package pages

import (
	"math/rand/v2"
	"testing"
)

type held struct {
	mem []byte
	run Run
	tag byte
}

// sane checks the tables and lists of a pool against the runs that are in use.
func sane(t *testing.T, p *Pool, inUse []held) {
	t.Helper()
	pages, reserved, dirtyFree, freeRuns := 0, 0, 0, 0
	for _, c := range p.mu.chunks {
		if c == nil {
			continue
		}
		reserved += chunkPages
		used := 0
		for at := 0; at < chunkPages; {
			n := int(c.size[at])
			end := at + n - 1
			if n == 0 || int(c.size[end]) != n || c.free[at] != c.free[end] {
				t.Fatalf("run at %d of %d pages: the other end says %d", at, n, c.size[end])
			}
			if c.free[at] {
				freeRuns++
				dirtyFree += c.dirtyPages(at, n)
				if end+1 < chunkPages && c.free[end+1] {
					t.Fatalf("free runs at %d and %d are neighbours", at, end+1)
				}
			} else {
				used += n
				if c.dirtyPages(at, n) != n {
					t.Fatalf("run in use at %d has clean pages", at)
				}
			}
			at += n
		}
		if used != c.inUse || used == 0 && p.mu.spare != c {
			t.Fatalf("chunk has %d pages in use, counts %d", used, c.inUse)
		}
		pages += used
	}
	for kind := range p.mu.lists {
		for b, r := range p.mu.lists[kind].head {
			if (r != none) != (p.mu.lists[kind].nonEmpty[b/64]>>(b%64)&1 == 1) {
				t.Fatalf("bin %d: bitmap is wrong", b)
			}
			for prev := Run(none); r != none; {
				c := p.mu.chunks[r.chunk()]
				at := r.page()
				if !c.free[at] || binOf(int(c.size[at])) != b || c.kind(at) != kind || c.prev[at] != prev {
					t.Fatalf("bin %d holds a run of %d pages, free %v, prev %d for %d", b, c.size[at], c.free[at], c.prev[at], prev)
				}
				freeRuns--
				prev, r = r, c.next[at]
			}
		}
	}
	want := 0
	for _, h := range inUse {
		want += len(h.mem) / Size
	}
	if pages != want || p.InUse() != int64(want)*Size || p.Reserved() != int64(reserved)*Size {
		t.Fatalf("%d pages in use, counts %d bytes, want %d pages", pages, p.InUse(), want)
	}
	if dirtyFree != p.mu.dirtyFree || freeRuns != 0 {
		t.Fatalf("%d free dirty pages, counts %d; %d free runs are not listed", dirtyFree, p.mu.dirtyFree, freeRuns)
	}
}

func TestPoolAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	p := New()
	defer p.Close()
	var inUse []held
	for i := range 30_000 {
		// The amount in use swells and shrinks, over several chunks.
		if full := len(inUse) > 600; random.IntN(3) > 0 && !full && i/3000%2 == 0 || len(inUse) == 0 {
			n := 1 + random.IntN(RunMax)
			if random.IntN(4) > 0 {
				n = 1 + random.IntN(16)
			}
			mem, run := p.Alloc(n)
			h := held{mem, run, byte(random.Uint32())}
			if len(mem) != n*Size {
				t.Fatalf("%d pages: %d bytes", n, len(mem))
			}
			for at := 0; at < len(mem); at += Size {
				mem[at], mem[at+Size-1] = h.tag, h.tag
			}
			inUse = append(inUse, h)
		} else {
			at := random.IntN(len(inUse))
			h := inUse[at]
			for i := 0; i < len(h.mem); i += Size {
				if h.mem[i] != h.tag || h.mem[i+Size-1] != h.tag {
					t.Fatal("a run was written to by somebody else")
				}
			}
			p.Free(h.run)
			inUse[at] = inUse[len(inUse)-1]
			inUse = inUse[:len(inUse)-1]
		}
		if i%1000 == 0 {
			sane(t, p, inUse)
		}
	}
	for _, h := range inUse {
		p.Free(h.run)
	}
	sane(t, p, nil)
	if p.Reserved() != chunkBytes {
		t.Errorf("%d bytes are reserved with none in use, want the spare chunk", p.Reserved())
	}
}

func TestFreeDirtyPagesAreFew(t *testing.T) {
	p := New()
	defer p.Close()
	var inUse []held
	// Every second page stays, so that nothing coalesces.
	for range 40_000 {
		mem, run := p.Alloc(1)
		inUse = append(inUse, held{mem: mem, run: run})
	}
	kept := inUse[:0]
	for i, h := range inUse {
		if i%2 == 0 {
			kept = append(kept, h)
		} else {
			p.Free(h.run)
		}
	}
	if limit := max(dirtyFreePagesMin, 20_000/dirtyFreeShare); p.mu.dirtyFree > limit {
		t.Errorf("%d free dirty pages, want at most %d", p.mu.dirtyFree, limit)
	}
	sane(t, p, kept)
}

func TestFreeTwice(t *testing.T) {
	p := New()
	defer p.Close()
	_, keep := p.Alloc(1)
	_, r := p.Alloc(2)
	p.Free(r)
	defer func() {
		if recover() == nil {
			t.Error("freeing a run twice went unnoticed")
		}
		p.Free(keep)
	}()
	p.Free(r)
}

func BenchmarkAllocFree(b *testing.B) {
	p := New()
	defer p.Close()
	random := rand.New(rand.NewPCG(1, 2))
	runs := make([]Run, 1000)
	for i := range runs {
		_, runs[i] = p.Alloc(1 + random.IntN(16))
	}
	for b.Loop() {
		i := random.IntN(len(runs))
		p.Free(runs[i])
		_, runs[i] = p.Alloc(1 + random.IntN(16))
	}
}
