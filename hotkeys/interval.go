package hotkeys

import "math"

// How often can a key have been accessed of which n accesses were recorded,
// each with probability p? The interval holds every N that does not make n a
// surprise: from the smallest N with P(Bin(N, p) >= n | something is recorded)
// >= 1 % to the largest with P(Bin(N, p) <= n) >= 4 % (C. J. Clopper, E. S.
// Pearson: The Use of Confidence or Fiducial Limits Illustrated in the Case of
// the Binomial. Biometrika 26, 1934; they seek p where N is known). Whatever N
// is, an interval made so contains it with a probability of at least 95 %, for
// one recorded access as for a million. n ± 1.96 √n does not: of keys of 400
// accesses it is right about 91 % at 1 %, and of keys of 50 about 39 %, for it
// has no width when nothing is recorded.
//
// Two things differ from the textbook, because a key is listed for having been
// recorded much. First, the condition: nearly all keys in the list of a large
// keyspace were accessed once or twice and recorded once, and the textbook, who
// sees the many that were not recorded as well, would say of each that it was
// accessed three times at least. Second, the tails: keys come to the head of the
// list by luck too, so that the record overstates more often than it
// understates. Two equal tails of 2.5 % cover 91 % of the 16 hottest keys
// of a Zipf stream of exponent 0.8 and 95 % at 0.99, nearly all that are missed
// being below the interval; these cover 96 %.
//
// Both ends are a question about T, the access that is the m-th recorded:
// P(Bin(N, p) < m) = P(T > N). T has mean m/p, variance m(1-p)/p² and skewness
// (2-p)/√(m(1-p)). A gamma distribution of shape k = 4m(1-p)/(2-p)² and scale
// (2-p)/2p, moved by m/(2-p), has the same three; the cube root of a gamma
// variable is nearly normal (E. B. Wilson, M. M. Hilferty: The Distribution of
// Chi-Square. PNAS 17, 1931), and so its quantiles have a closed form. From
// recordedExactMax recorded accesses on, it is too wide by a thousandth at most
// and never too narrow; below, it is the place where an exact search begins.
//
//	recorded       at 1 %          at 10 %       at 50 %
//	       0         0–320           0–30          0–4
//	       1         1–499           1–48          1–7
//	      10       415–1,739        44–170        12–30
//	     100     7,832–11,917      793–1,183     169–228
//	   1,000    92,827–105,679   9,316–10,542  1,898–2,081
//
// A call takes 0.1 µs (go test -bench Interval).
const (
	tailLow  = 0.01 // of the probability
	tailHigh = 0.04

	// Standard normal variables above which these tails lie.
	deviationsLow  = 2.3263478740408408
	deviationsHigh = 1.7506860712521692

	recordedExactMax = 40
)

// interval returns the 95 % interval of the number of accesses of a key of
// which n were recorded, each independently with the given probability in
// percent, 1 … 100. Both ends are integers. At 100 both are n.
func interval(n uint64, percentage int) (low, high float64) {
	if percentage == PercentageMax {
		return float64(n), float64(n)
	}
	p := float64(percentage) / 100
	if n > 0 {
		last := lastTrial(n-1, p, threshold{1 - tailLow, tailLow}, -deviationsLow)
		low = max(last+1, float64(n))
	}
	return low, lastTrial(n, p, threshold{tailHigh, 0}, deviationsHigh)
}

// threshold is fixed + unseen P(Bin(N, p) = 0).
type threshold struct{ fixed, unseen float64 }

// lastTrial returns the largest N for which P(Bin(N, p) <= n) is not below the
// threshold, whose fixed part a standard normal variable exceeds at deviations.
// Where the result is the closed form's, it is rounded away from the middle of
// the distribution.
func lastTrial(n uint64, p float64, of threshold, deviations float64) float64 {
	m := float64(n) + 1
	shape := 4 * m * (1 - p) / ((2 - p) * (2 - p))
	root := 1 - 1/(9*shape) + deviations/(3*math.Sqrt(shape))
	quantile := m/(2-p) + (2-p)/(2*p)*shape*root*root*root
	// P(T > N) of an integer T is that of a continuous one at N + 1/2.
	guess := max(quantile-0.5, float64(n))
	switch {
	case n < recordedExactMax:
		return lastTrialExact(float64(n), p, of, math.Floor(guess))
	case deviations > 0:
		return math.Ceil(guess)
	default:
		return math.Floor(guess)
	}
}

// lastTrialExact is lastTrial by a walk from a guess. O(n), and one step for
// each by which the guess is wrong.
func lastTrialExact(n, p float64, of threshold, guess float64) float64 {
	q := 1 - p
	unseen := math.Pow(q, guess)
	term := unseen // P(Bin(guess, p) = i)
	sum := term    // P(Bin(guess, p) <= i)
	for i := 0.0; i < n; i++ {
		term *= (guess - i) / (i + 1) * (p / q)
		sum += term
	}
	// The sum changes by p times the last term when N does by 1: from n
	// recorded to more than n it takes an access that is recorded.
	for sum >= of.fixed+of.unseen*unseen {
		sum -= p * term
		guess++
		term *= guess / (guess - n) * q
		unseen *= q
	}
	for guess > n && sum < of.fixed+of.unseen*unseen {
		term *= (guess - n) / (guess * q)
		guess--
		sum += p * term
		unseen /= q
	}
	return guess
}
