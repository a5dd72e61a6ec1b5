package hyperdelay

import "context"

// Cancelled is the result of Cancel.
type Cancelled struct {
	// Found is false if the task did not exist. It can also be false if the connection was lost before
	// the reply and the request was sent again.
	Found bool `json:"found"`
	// InFlight is true if a consumer may have the task now; its acknowledgement then removes nothing.
	// If it is false, no copy of the task is delivered after the reply.
	InFlight bool `json:"in_flight"`
}

// Cancel removes a task, and returns when the removal is on the server's disk.
func (c *Client) Cancel(ctx context.Context, route, id string) (Cancelled, error) {
	var reply Cancelled
	err := c.do(ctx, request{Kind: "cancel", Route: route, ID: id}, nil, &reply)
	return reply, err
}

// StatsQuery selects the routes that Stats lists. The zero value selects all.
type StatsQuery struct {
	// Route selects only this route.
	Route string
	// After selects the routes after this name.
	After string
}

// Counts are numbers of tasks by state.
type Counts struct {
	Waiting  int64 `json:"waiting"`
	Parked   int64 `json:"parked"`
	InFlight int64 `json:"in_flight"`
	Dead     int64 `json:"dead"`
}

// Stats are the counts of a server.
type Stats struct {
	Counts
	Connections int64 `json:"connections"`
	UnknownAcks int64 `json:"unknown_acks"`
	// Orphaned counts the tasks on routes that the server made and no connection has registered.
	Orphaned int64        `json:"orphaned"`
	Routes   []RouteStats `json:"routes"`
	// More is true if there are more routes: ask again for those After the last one.
	More bool `json:"more"`
}

// RouteStats are the counts of a route.
type RouteStats struct {
	Route string `json:"route_key"`
	Counts
	Consumers int64 `json:"consumers"`
	// Orphaned is true if the server made the route and no connection has it registered.
	Orphaned bool `json:"orphaned"`
}

// Stats returns the server's counts.
func (c *Client) Stats(ctx context.Context, query StatsQuery) (Stats, error) {
	var reply Stats
	err := c.do(ctx, request{Kind: "stats", Route: query.Route, After: query.After}, nil, &reply)
	return reply, err
}

// Ping returns when the server has replied.
func (c *Client) Ping(ctx context.Context) error {
	var reply struct{}
	return c.do(ctx, request{Kind: "ping"}, nil, &reply)
}
