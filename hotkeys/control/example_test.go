package control_test

import (
	"fmt"
	"maps"
	"time"

	"kvserver/hotkeys/control"
)

// A key steps above H, and its clients lose interest after a minute.
func Example() {
	settings := control.Defaults()
	settings.Promote, settings.Demote = 4600, 3500
	settings.HoldNs = int64(30 * time.Second)

	var c control.Controller
	if _, err := c.Configure(settings, 0); err != nil {
		fmt.Println(err)
		return
	}
	const window = int64(10 * time.Second)
	for i, demand := range []float64{3000, 5000, 5200, 5100, 5000, 4000, 900, 800, 700} {
		begin := int64(i) * window
		transitions := c.Window(control.Window{
			BeginNs: begin,
			EndNs:   begin + window,
			Known:   true,
			Floor:   50,
			Demands: maps.All(map[control.Key]float64{{Name: "news:1"}: demand}),
		})
		for _, t := range transitions {
			fmt.Printf("%v: %s is %s (%.0f/s)\n", time.Duration(t.AtNs), t.Key.Name, t.Event, t.Demand)
		}
	}
	// Output:
	// 20s: news:1 is warming (5000/s)
	// 30s: news:1 is hot (5200/s)
	// 1m30s: news:1 is normal (700/s)
}
