  */ // 日t 日本
本
 inout 日本
本
 inout 日本
日本
