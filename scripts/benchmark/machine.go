//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpus is a list of processor numbers, as the kernel counts them.
type cpus []int

// allowedCPUs are those this process may run on.
func allowedCPUs() (cpus, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("read the processors allowed: %w", err)
	}
	var allowed cpus
	for cpu := 0; len(allowed) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			allowed = append(allowed, cpu)
		}
	}
	return allowed, nil
}

// pinThreads moves every thread of this process to the given processors, and lets as many run at once. Threads that
// the runtime starts later inherit from the one that starts them.
func pinThreads(to cpus) error {
	runtime.GOMAXPROCS(len(to))
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := pin(id, to); err != nil && err != unix.ESRCH {
			return fmt.Errorf("pin a thread to processors %v: %w", to, err)
		}
	}
	return nil
}

func pin(thread int, to cpus) error {
	var set unix.CPUSet
	for _, cpu := range to {
		set.Set(cpu)
	}
	return unix.SchedSetaffinity(thread, &set)
}

// startPinned starts a command whose processors are the given ones, from its first instruction on: a child inherits
// the affinity of the thread that forks it. A Go server then takes its GOMAXPROCS from it.
func startPinned(cmd *exec.Cmd, to cpus) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	if err := pin(0, to); err != nil {
		return fmt.Errorf("pin to processors %v: %w", to, err)
	}
	defer unix.SchedSetaffinity(0, &before)
	return cmd.Start()
}

// busyTime is how long the processors were busy with anything, and how long the hypervisor held them back, since
// boot. The kernel counts it in hundredths of a second.
func busyTime(of cpus) (busy, stolen time.Duration, err error) {
	const tick = 10 * time.Millisecond
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, err
	}
	for _, cpu := range of {
		prefix := fmt.Appendf(nil, "cpu%d ", cpu)
		start := bytes.Index(stat, prefix)
		if start < 0 {
			return 0, 0, fmt.Errorf("processor %d is not in /proc/stat", cpu)
		}
		line, _, _ := bytes.Cut(stat[start+len(prefix):], []byte("\n"))
		// user nice system idle iowait irq softirq steal
		for i, field := range bytes.Fields(line) {
			ticks, err := strconv.ParseInt(string(field), 10, 64)
			if err != nil {
				return 0, 0, fmt.Errorf("read /proc/stat: %w", err)
			}
			switch i {
			case 0, 1, 2, 5, 6:
				busy += time.Duration(ticks) * tick
			case 7:
				stolen += time.Duration(ticks) * tick
			}
		}
	}
	return busy, stolen, nil
}

// describeMachine is the head of a report: what was measured, where.
func describeMachine(commit, peer string, server, load cpus) string {
	var uname unix.Utsname
	unix.Uname(&uname)
	model := "unknown processor"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, after, found := strings.Cut(string(info), "model name\t: "); found {
			model, _, _ = strings.Cut(after, "\n")
		}
	}
	return fmt.Sprintf(`# Benchmarks

| | |
| --- | --- |
| date | %s |
| commit | %s |
| compiler | %s |
| peer | %s |
| processor | %s, %d usable; server on %v, load on %v |
| kernel | Linux %s %s |
`, time.Now().UTC().Format("2006-01-02 15:04 UTC"), commit, runtime.Version(), output(peer, "--version"), model,
		len(server)+len(load), server, load, unix.ByteSliceToString(uname.Release[:]),
		unix.ByteSliceToString(uname.Machine[:]))
}

// commit names the commit measured, and whether files under version control differ from it.
func commit() string {
	id := output("git", "rev-parse", "--short=12", "HEAD")
	if output("git", "status", "--porcelain", "--untracked-files=no") != "" {
		id += " with changes"
	}
	return id
}

func output(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
