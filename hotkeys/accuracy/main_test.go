package main

import "testing"

// The figures promised for Zipf 0.99. The program measures 100 windows at 1 %;
// a quarter of them bounds the mean nearly as well, and takes a second. The seed
// is fixed, so that the figures come out the same at every run.
func TestTargets(t *testing.T) {
	full := &subject{percentage: 100, windows: 2}
	sampled := &subject{percentage: 1, windows: windowsSampled / 4}
	if err := measure([]*subject{full, sampled}, 0.99); err != nil {
		t.Fatal(err)
	}
	if full.measured != 2 || full.meanRecall() != 1 || full.meanError() > 0.005 {
		t.Errorf("100 %%: recall %.3f, error %.4f; want 1, at most 0.005", full.meanRecall(), full.meanError())
	}
	if sampled.measured != windowsSampled/4 || sampled.meanRecall() < 0.82 {
		t.Errorf("1 %%: recall %.3f, want 0.82", sampled.meanRecall())
	}
}
