package hll

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

const (
	selfTestRounds   = 100
	selfTestElements = 200_000
	// selfTestErrors is how many standard errors an estimate may be off: one in 10^9 is further.
	selfTestErrors = 6
	selfTestSparse = 3000 // bytes, the default of Redis
)

// SelfTest checks the packing of registers against an array, and estimates of growing sets, held densely and sparsely,
// against their true size. It returns what it found wrong. It takes some 50 ms.
func SelfTest(random *rand.Rand) error {
	if err := testRegisters(random); err != nil {
		return err
	}
	return testEstimates(random)
}

func testRegisters(random *rand.Rand) error {
	s, _ := AppendEmpty(nil).ToDense()
	for range selfTestRounds {
		clear(s.registers())
		var model Max
		for i := range model {
			model[i] = byte(random.IntN(1 << regBits))
			s.raise(i, model[i])
		}
		for i, want := range model {
			if got := s.register(i); got != want {
				return fmt.Errorf("Register %d should be %d but is %d", i, want, got)
			}
		}
	}
	return nil
}

func testEstimates(random *rand.Rand) error {
	wide := Editor{Sketch: AppendEmpty(nil)}
	wide.Promote()
	narrow := Editor{AppendEmpty(nil), selfTestSparse}
	seed, checkAt := random.Uint64(), 1
	for n := 1; n <= selfTestElements; n++ {
		element := binary.LittleEndian.AppendUint64(nil, uint64(n)^seed)
		changed, _ := wide.Add(element)
		if again, ok := narrow.Add(element); again != changed || !ok {
			return fmt.Errorf("dense/sparse disagree about element %d", n)
		}
		if n == 100 && narrow.Dense() {
			return fmt.Errorf("sparse encoding not used")
		}
		if n != checkAt {
			continue
		}
		checkAt += max(1, checkAt/3)
		got, _ := wide.Estimate()
		if other, ok := narrow.Estimate(); other != got || !ok {
			return fmt.Errorf("dense/sparse disagree: %d, %d", got, other)
		}
		if allowed := selfTestErrors*1.04/math.Sqrt(Registers)*float64(n) + 2; math.Abs(float64(got)-float64(n)) > allowed {
			return fmt.Errorf("Too big error. card:%d estimate:%d", n, got)
		}
	}
	return nil
}
